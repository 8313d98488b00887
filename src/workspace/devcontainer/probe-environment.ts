import { randomUUID } from 'node:crypto'
import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { unlessAborted } from '../../lib/process/unless-aborted.ts'
import type { Backend, ExecProcess } from '../backend/backend.ts'
import { hangUpOnAbort } from '../backend/follow-program.ts'
import type { UserEnvProbe } from './dev-container.ts'
import { parseEnvironment } from './resolve-references.ts'

/** As long as the official CLI waits. */
const TIMEOUT_MS = 10_000
const EXIT_MS = 500
const MAX_OUTPUT_BYTES = 1024 * 1024
/** A program with more cannot be started on every system, together with its arguments. */
const MAX_ENVIRONMENT_BYTES = 256 * 1024

const FLAGS = { loginInteractiveShell: '-lic', loginShell: '-lc', interactiveShell: '-ic' } as const

/**
 * Prints the PATH of the container, and then the environment of the user's shell, each between two marks, because
 * the files of a shell may print anything.
 */
const SCRIPT = `
mark=$1 shell=\${SHELL:-$2} flag=$3
printf '%s%s%s' "$mark" "$PATH" "$mark"
case \${shell##*/}:$flag in
  pwsh:-l*|pwsh-preview:-l*) set -- -Login -Command ;;
  pwsh:*|pwsh-preview:*) set -- -Command ;;
  *) set -- "$flag" ;;
esac
exec "$shell" "$@" "printf %s $mark; cat /proc/self/environ; printf %s $mark"`
/** Marks in the complete output. */
const MARKS = 4

/** Environment of a shell, or why it is unknown. */
type Probed = { readonly environment: Readonly<Record<string, string>> } | { readonly why: string }

/**
 * Returns the environment of the user's shell in a workspace, which lifecycle commands get (`userEnvProbe`). Its
 * PATH includes the container's. Never fails, and is bounded in time and size: the files that the shell reads are
 * untrusted.
 */
export async function probeEnvironment(
  backend: Backend,
  name: string,
  probe: UserEnvProbe,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<Probed> {
  if (probe === 'none') return { environment: {} }
  const giveUp = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  try {
    const { shell } = await backend.loginEnvironment(name)
    const mark = randomUUID()
    const argv = ['/bin/sh', '-c', SCRIPT, 'sh', mark, shell, FLAGS[probe]]
    const output = await readMarked(await backend.exec(name, { argv, stdin: false }), mark, giveUp)
    const [, containerPath = '', , environ = ''] = output.split(mark)
    return environmentOf(parseEnvironment(environ), containerPath)
  } catch (error) {
    if (signal.aborted) return { why: 'it was aborted' }
    return { why: giveUp.aborted ? `it took longer than ${timeoutMs / 1_000} seconds` : messageOf(error) }
  }
}

/**
 * Reads the output until its last mark, or its end. Programs that the shell has left behind may hold the output
 * open.
 *
 * @throws Error when the signal is aborted, or for more than 1 MiB
 */
async function readMarked(process: ExecProcess, mark: string, giveUp: AbortSignal): Promise<string> {
  const chunks: string[] = []
  let bytes = 0
  let marks = 0
  let tail = ''
  const enough = Promise.withResolvers<void>()
  process.stderr.resume()
  process.stdout.setEncoding('utf8').on('data', (text: string) => {
    bytes += Buffer.byteLength(text)
    if (marks >= MARKS) return
    if (bytes > MAX_OUTPUT_BYTES) return enough.reject(new Error('it printed more than 1 MiB'))
    chunks.push(text)
    const parts = (tail + text).split(mark)
    marks += parts.length - 1
    tail = (parts.at(-1) ?? '').slice(1 - mark.length)
    if (marks >= MARKS) enough.resolve()
  })
  const forget = hangUpOnAbort(giveUp, process)
  try {
    const ended = process.exitStatus.then(() => Promise.race([finished(process.stdout), delay(1_000)]))
    await unlessAborted(Promise.race([enough.promise, ended]), giveUp)
    // A shell that is still exiting would be signaled together with what it leaves behind.
    await Promise.race([process.exitStatus, delay(EXIT_MS)])
    return chunks.join('')
  } catch (error) {
    await process.signal('SIGKILL').catch(ignore('it may have exited', false))
    throw error
  } finally {
    forget()
    // Output that nobody reads would block the engine.
    await process.hangUp()
  }
}

function environmentOf(variables: ReadonlyMap<string, string>, containerPath: string): Probed {
  if (variables.size === 0) return { why: 'its shell printed no environment' }
  const { PWD: _, ...environment } = Object.fromEntries(variables)
  const { PATH: shellPath = '' } = environment
  if (shellPath !== '' && containerPath !== '') environment['PATH'] = mergePaths(shellPath, containerPath)
  const bytes = Buffer.byteLength(Object.entries(environment).flat().join())
  return bytes > MAX_ENVIRONMENT_BYTES
    ? { why: `its environment has more than ${MAX_ENVIRONMENT_BYTES / 1024} KiB` }
    : { environment }
}

/**
 * Adds the directories of the container's PATH that a shell has dropped: each after the one that precedes it in
 * the container, and those before the first common one in front of that. The official CLI edits /etc/profile
 * instead, so that a login shell keeps the container's PATH.
 */
export function mergePaths(shellPath: string, containerPath: string): string {
  const result = shellPath.split(':')
  const added = containerPath.split(':')
  const firstCommon = added.find((entry) => result.includes(entry))
  let insertAt = firstCommon === undefined ? 0 : result.indexOf(firstCommon)
  for (const entry of added) {
    const at = result.indexOf(entry)
    if (at === -1) result.splice(insertAt++, 0, entry)
    else insertAt = at + 1
  }
  return result.join(':')
}
