import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CONTROL_GROUPS, controlGroupsOf } from './control-groups.ts'

/** Files that freeze a control group, and what they contain. Source: the kernel's cgroup-v2.rst and freezer-subsystem.rst. */
const VERSIONS = [
  { controller: '', file: 'cgroup.freeze', frozen: '1', thawed: '0' },
  { controller: 'freezer', file: 'freezer.state', frozen: 'FROZEN', thawed: 'THAWED' },
] as const

/**
 * Freezes or thaws the programs of a container without its engine. Returns whether that was possible: the container must be on
 * this machine, and this process must be root.
 */
export async function setFrozen(
  containerId: string,
  isFrozen: boolean,
  root = CONTROL_GROUPS,
): Promise<boolean> {
  // The flag creates no file.
  for (const { controller, file, frozen, thawed } of VERSIONS)
    for (const path of controlGroupsOf(containerId)) {
      try {
        await writeFile(join(root, controller, path, file), isFrozen ? frozen : thawed, { flag: 'r+' })
        return true
      } catch {
        // It is not there, or belongs to root.
      }
    }
  return false
}
