import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { identify, type MachineProcess } from './machine-process.ts'

/**
 * Processes that have a file's path among their arguments, whole or in a list, and monitors that are told of it by their socket
 * and have it open: a machine that a killed server had started and not yet noted, or whose metadata is lost. None where there
 * is no /proc.
 */
export function findProcessesWith(path: string): Promise<readonly MachineProcess[]> {
  const file = statSync(path, { throwIfNoEntry: false })
  const isTold = (words: readonly string[]): boolean => words.some((word) => namesPath(word, path))
  return findProcesses(
    (words, pid) =>
      isTold(words) ||
      (file !== undefined &&
        words.some((word) => basename(word).includes('firecracker')) &&
        hasOpen(pid, file)),
  )
}

/** Monitors that were started for a machine, whether they have been told of its disk or not. */
export function findMonitorsOf(id: string): Promise<readonly MachineProcess[]> {
  return findProcesses((words) => words.some((word, i) => word === '--id' && words[i + 1] === id))
}

async function findProcesses(
  isSought: (words: readonly string[], pid: string) => boolean,
): Promise<readonly MachineProcess[]> {
  const found = numbersIn('/proc').filter((pid) => Number(pid) !== process.pid && isSought(wordsOf(pid), pid))
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
