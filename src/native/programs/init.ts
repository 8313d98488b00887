import { statSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/** Where the first program of VMs is (`native/init/`); undefined where it was not built, as `findRunner` tells. */
export function findInit(): string | undefined {
  return builtFiles('workspace-init').find((file) => statSync(file, { throwIfNoEntry: false }) !== undefined)
}
