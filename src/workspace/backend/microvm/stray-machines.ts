import { readdirSync, readFileSync } from 'node:fs'
import { identify, type MachineProcess } from './machine-process.ts'

/**
 * Processes that have a file's path among their arguments, whole or in a list: a machine that a killed server had
 * started and not yet noted, or whose metadata is lost. None where there is no /proc.
 */
export async function findProcessesWith(path: string): Promise<readonly MachineProcess[]> {
  let pids: readonly string[]
  try {
    pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
  const found = pids.filter((pid) => namesPath(pid, path)).map((pid) => identify(Number(pid)))
  return (await Promise.all(found)).filter((each) => each !== undefined)
}

function namesPath(pid: string, path: string): boolean {
  if (Number(pid) === process.pid) return false
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const named = [`file=${path.replaceAll(',', ',,')}`, `path=${path}`]
    return words.some((word) => word === path || word.split(/,(?!,)/).some((part) => named.includes(part)))
  } catch {
    return false
  }
}
