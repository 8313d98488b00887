import { createRequire } from 'node:module'
import type * as Library from 'yaml'

/** Loads the YAML library on first use: it has seventy modules. */
export function yaml(): typeof Library {
  return createRequire(import.meta.url)('yaml') as typeof Library
}
