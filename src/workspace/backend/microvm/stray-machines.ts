import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { identify, type MachineProcess } from './monitor/machine-process.ts'

/** Identifying marks of a VM whose processes are to be found. */
export interface Traces {
  /** Path of its disk. */
  readonly disk: string
  /** Paths of the sockets of its monitor and its helpers. */
  readonly sockets?: readonly string[]
  /** Id that its monitor was started with. */
  readonly id?: string
}

/**
 * Finds the processes of a VM that a killed server had started but not recorded, or whose metadata is lost:
 * those with one of the paths among their arguments, whole or in a list; monitors started with the VM's id;
 * and monitors that were configured over their socket and have the disk open. Empty on systems without /proc.
 */
export async function findMachine({ disk, sockets = [], id }: Traces): Promise<readonly MachineProcess[]> {
  const file = statSync(disk, { throwIfNoEntry: false })
  const matches = (pid: string): boolean => {
    const argv = argumentsOf(pid)
    return (
      argv.some((argument) => [disk, ...sockets].some((path) => namesPath(argument, path))) ||
      argv.some((argument, i) => id !== undefined && argument === '--id' && argv[i + 1] === id) ||
      (file !== undefined &&
        argv.some((argument) => basename(argument).includes('firecracker')) &&
        hasOpen(pid, file))
    )
  }
  const found = numbersIn('/proc').filter((pid) => Number(pid) !== process.pid && matches(pid))
  const identified = await Promise.all(found.map((pid) => identify(Number(pid))))
  return identified.filter((each) => each !== undefined)
}

function numbersIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

function argumentsOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

function namesPath(argument: string, path: string): boolean {
  const named = [`file=${path.replaceAll(',', ',,')}`, `path=${path}`, `--socket-path=${path}`]
  return argument === path || argument.split(/,(?!,)/).some((part) => named.includes(part))
}

/** Returns whether a process has a file open, by any name. */
function hasOpen(pid: string, file: { readonly dev: number; readonly ino: number }): boolean {
  return numbersIn(`/proc/${pid}/fd`).some((fd) => {
    try {
      const { dev, ino } = statSync(`/proc/${pid}/fd/${fd}`)
      return dev === file.dev && ino === file.ino
    } catch {
      // It has just been closed, or this process may not inspect it.
      return false
    }
  })
}
