import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Backend } from '../backend/backend.ts'
import { hangUpOnAbort, followProgram } from '../backend/follow-program.ts'
import type { Preparation } from './lifecycle-step.ts'

const TIMEOUT_MS = 30 * 60_000

interface RunContext {
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}

/** A program that failed, and why: for example `failed with status 1`. Never its output, which may have secrets (W12). */
interface FailedPreparation {
  readonly name: string
  readonly why: string
}

/**
 * Runs programs inside a workspace concurrently, as its user unless they have another. Never fails: after a failed
 * preparation the user needs the workspace to fix it. Returns those that failed, whose output is reported as progress.
 */
export async function runPreparations(
  backend: Backend,
  name: string,
  programs: readonly Preparation[],
  context: RunContext & { readonly logger: Logger },
): Promise<readonly FailedPreparation[]> {
  const failed = await Promise.all(
    programs.map(async (program) => {
      const why = await runPreparation(backend, name, program, context)
      if (why === undefined) return []
      context.logger.warn({ workspace: name, command: program.name, why }, 'preparing the workspace failed')
      return [{ name: program.name, why }]
    }),
  )
  return failed.flat()
}

/** Runs a program inside a workspace for at most 30 minutes. Returns why it failed; undefined if it did not. */
export async function runPreparation(
  backend: Backend,
  name: string,
  { name: title, input, ...request }: Preparation,
  { progress, signal }: RunContext,
): Promise<string | undefined> {
  const giveUp = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  try {
    progress(`running ${title}`)
    const process = await backend.exec(name, { ...request, stdin: input !== undefined })
    // A program may end before it has read everything.
    if (input !== undefined) process.stdin.on('error', () => undefined).end(input)
    const forget = hangUpOnAbort(giveUp, process)
    try {
      const lastLines = await followProgram(process, (line) => progress(`${title}: ${line}`))
      const { status } = await process.exitStatus
      if (giveUp.aborted) return signal.aborted ? 'was aborted' : 'took longer than 30 minutes'
      if (status === 0) return undefined
      const why = `failed with status ${status}`
      // Not every line was shown.
      if (lastLines.length > 0) progress(`${title} ${why}: ${lastLines.slice(-3).join('; ')}`)
      return why
    } finally {
      forget()
    }
  } catch (error) {
    return `failed: ${messageOf(error)}`
  }
}
