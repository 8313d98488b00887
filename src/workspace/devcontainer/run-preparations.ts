import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Backend } from '../backend/backend.ts'
import { hangUpOnAbort, followProgram } from '../backend/follow-program.ts'
import type { Preparation } from './lifecycle-step.ts'

const TIMEOUT_MS = 30 * 60_000

/**
 * Runs programs inside a workspace concurrently, as its user unless they have another. Never fails: after a failed preparation the
 * user needs the workspace to fix it. Returns whether all succeeded. Failures are reported as progress; the
 * log contains no program output.
 */
export async function runPreparations(
  backend: Backend,
  name: string,
  programs: readonly Preparation[],
  context: {
    readonly progress: (message: string) => void
    readonly signal: AbortSignal
    readonly logger: Logger
  },
): Promise<boolean> {
  const { progress, signal, logger } = context
  let isSuccessful = true
  const giveUp = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const runOne = async (program: Preparation): Promise<void> => {
    const reportFailure = (why: string, output: string): void => {
      isSuccessful = false
      progress(`${program.name} ${why}${output === '' ? '' : `: ${output}`}; the workspace is running anyway`)
      logger.warn({ workspace: name, command: program.name, why }, 'preparing the workspace failed')
    }
    try {
      progress(`running ${program.name}`)
      const { name: _, ...request } = program
      const process = await backend.exec(name, { ...request, stdin: false })
      const forget = hangUpOnAbort(giveUp, process)
      try {
        const lastLines = await followProgram(process, (line) => progress(`${program.name}: ${line}`))
        const { status } = await process.exitStatus
        if (giveUp.aborted) reportFailure(signal.aborted ? 'was aborted' : 'took longer than 30 minutes', '')
        else if (status !== 0) reportFailure(`failed with status ${status}`, lastLines.slice(-3).join('; '))
      } finally {
        forget()
      }
    } catch (error) {
      reportFailure('failed', messageOf(error))
    }
  }
  await Promise.all(programs.map(runOne))
  return isSuccessful
}
