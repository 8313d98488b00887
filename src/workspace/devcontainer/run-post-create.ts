import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Backend } from '../backend/backend.ts'
import { endWith, followProgram } from '../backend/follow-program.ts'
import type { PostCreate } from './dev-container.ts'

const TIMEOUT_MS = 30 * 60_000

/**
 * Runs what `postCreateCommand` asks for inside a workspace, as its user, all at once. Never fails: a workspace whose
 * preparation went wrong is what its user needs to mend it. What went wrong is told as progress; the log gets no output
 * of programs.
 */
export async function runPostCreate(
  backend: Backend,
  name: string,
  programs: readonly PostCreate[],
  context: {
    readonly progress: (message: string) => void
    readonly signal: AbortSignal
    readonly logger: Logger
  },
): Promise<void> {
  const { progress, signal, logger } = context
  const giveUp = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const runOne = async (program: PostCreate): Promise<void> => {
    const tell = (why: string, said: string): void => {
      progress(`${program.name} ${why}${said === '' ? '' : `: ${said}`}; the workspace runs all the same`)
      logger.warn({ workspace: name, command: program.name, why }, 'a postCreateCommand failed')
    }
    try {
      progress(`running ${program.name}`)
      const process = await backend.exec(name, { argv: program.argv, stdin: false })
      const forget = endWith(giveUp, process)
      try {
        const lastLines = await followProgram(process, (line) => progress(`${program.name}: ${line}`))
        const { status } = await process.exitStatus
        if (giveUp.aborted) tell(signal.aborted ? 'was given up' : 'took longer than 30 minutes', '')
        else if (status !== 0) tell(`failed with status ${status}`, lastLines.slice(-3).join('; '))
      } finally {
        forget()
      }
    } catch (error) {
      tell('failed', messageOf(error))
    }
  }
  await Promise.all(programs.map(runOne))
}
