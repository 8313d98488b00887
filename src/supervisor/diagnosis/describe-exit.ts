import { constants } from 'node:os'
import type { ProcessSpec } from '../process-spec.ts'
import type { PastExit } from '../process/run-history.ts'

/** Lowest status with which a shell reports the signal that killed its command. Source: POSIX, sh, 2.8.2. */
const FIRST_SIGNAL_STATUS = 128

/** Describes the end of a run: `exited with status 1`, or the message of a start that failed. */
export function describePastExit(
  { exit, isRequested }: PastExit,
  { command, memoryBytes }: ProcessSpec,
): string {
  const { code, signal, failure, isOutOfMemory } = exit
  if (failure !== undefined) return failure
  const how =
    signal !== undefined
      ? `${isRequested ? 'stopped' : 'killed'} by ${signal}`
      : code === undefined
        ? 'exited with an unknown status'
        : `exited with status ${code}${meaningOf(code, typeof command === 'string')}`
  if (isOutOfMemory === true)
    return `${how}: the kernel killed it because ${memoryBytes === undefined ? 'memory ran out' : 'it exceeded limits.memory'}`
  return isRequested ? `${how} on request` : how
}

function meaningOf(code: number, isShell: boolean): string {
  if (!isShell) return ''
  if (code === 126) return ' (the shell could not execute the command)'
  if (code === 127) return ' (the shell did not find the command)'
  const signal = Object.entries(constants.signals).find(
    ([, number]) => number === code - FIRST_SIGNAL_STATUS,
  )?.[0]
  return signal === undefined ? '' : ` (${signal} killed the command in the shell)`
}
