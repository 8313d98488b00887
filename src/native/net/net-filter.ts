import { existsSync } from 'node:fs'
import { builtFiles } from '../load.ts'

/** Program between a virtual machine and its user-mode network (`native/net-filter/`). */
const NET_FILTER = 'workspace-net-filter'

/** Returns the path of the network filter, or undefined if it was not built. */
export function findNetFilter(): string | undefined {
  return builtFiles(NET_FILTER).find((file) => existsSync(file))
}
