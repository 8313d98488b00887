import { statSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/**
 * Returns the path of the init program of VMs (`native/init/`), or undefined if it was not built; see
 * `findRunner`.
 */
export function findInit(): string | undefined {
  return builtFiles('workspace-init').find((file) => statSync(file, { throwIfNoEntry: false }) !== undefined)
}
