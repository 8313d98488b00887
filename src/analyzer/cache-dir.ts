import { homedir } from 'node:os'
import { join } from 'node:path'

/** Returns the cache directory of a user who sets none in a configuration file. */
export function defaultCacheDir(environment: Readonly<Record<string, string | undefined>>): string {
  return join(environment['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'analyzer')
}
