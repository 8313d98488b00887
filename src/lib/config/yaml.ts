import { createRequire } from 'node:module'
import type * as Library from 'yaml'

/** The reader and writer of YAML: seventy modules, loaded where there is a file to read or a text to write. */
export function yaml(): typeof Library {
  return createRequire(import.meta.url)('yaml') as typeof Library
}
