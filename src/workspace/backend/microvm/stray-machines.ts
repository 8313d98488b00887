import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { identify, type MachineProcess } from './monitor/machine-process.ts'

/** What may be known of a machine whose processes are sought. */
export interface Traces {
  /** Its disk's path. */
  readonly disk: string
  /** The path of the socket that its monitor listens at. */
  readonly socket?: string
  /** What its monitor was told to call it. */
  readonly id?: string
}

/**
 * Processes that have one of the paths among their arguments, whole or in a list, monitors that were told the machine's id, and
 * those that were told of its disk by their socket and have it open: a machine that a killed server had started and not yet
 * noted, or whose metadata is lost. None where there is no /proc.
 */
export async function findMachine({ disk, socket, id }: Traces): Promise<readonly MachineProcess[]> {
  const file = statSync(disk, { throwIfNoEntry: false })
  const isSought = (pid: string): boolean => {
    const words = wordsOf(pid)
    return (
      words.some((word) => namesPath(word, disk) || (socket !== undefined && namesPath(word, socket))) ||
      words.some((word, i) => id !== undefined && word === '--id' && words[i + 1] === id) ||
      (file !== undefined &&
        words.some((word) => basename(word).includes('firecracker')) &&
        hasOpen(pid, file))
    )
  }
  const found = numbersIn('/proc').filter((pid) => Number(pid) !== process.pid && isSought(pid))
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

function wordsOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

function namesPath(word: string, path: string): boolean {
  const named = [`file=${path.replaceAll(',', ',,')}`, `path=${path}`]
  return word === path || word.split(/,(?!,)/).some((part) => named.includes(part))
}

/** Whether a process has a file open, by whatever name it found it. */
function hasOpen(pid: string, file: { readonly dev: number; readonly ino: number }): boolean {
  return numbersIn(`/proc/${pid}/fd`).some((fd) => {
    try {
      const { dev, ino } = statSync(`/proc/${pid}/fd/${fd}`)
      return dev === file.dev && ino === file.ino
    } catch {
      // It has just been closed, or is one that nobody may look at.
      return false
    }
  })
}
