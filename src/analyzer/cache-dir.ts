import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the default cache directory of the user. */
export function defaultCacheDir(environment: Readonly<Record<string, string | undefined>>): string {
  return join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'analyzer')
}
