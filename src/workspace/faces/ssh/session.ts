import { finished, pipeline } from 'node:stream/promises'
import type { ServerChannel, Session } from '../../../lib/ssh/ssh2.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import { ignore } from '../../../lib/errors/ignore.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { ExecProcess, ExitStatus, LoginEnvironment } from '../../backend/backend.ts'
import { hangUpOnAbort } from '../../backend/follow-program.ts'
import { loginVariables } from '../../backend/login-environment.ts'
import { checkArgument } from '../../arguments.ts'
import type { TerminalModes } from '../../../lib/ssh/terminal-modes.ts'
import type { AgentForward } from './agent-forward.ts'
import { inTerminal, untilReady } from './in-terminal.ts'
import type { WorkspaceAccess } from './workspace-resolver.ts'
import { sftpPace } from './sftp-pace.ts'

/** Environment variables that SSH clients may set (threat S4): LD_PRELOAD and similar would control what runs. */
const ALLOWED_VARIABLE = /^(?:LANG|LC_\w*|TERM)$/
/** Exit status that ssh itself uses for its own failures. */
const FAILED = 255
const MAX_COLUMNS = 4096
const LOGGED_NAME_LENGTH = 64
const STARTING = 'The workspace is starting.\r\n'
/** Enough to keep sftp-server busy while its answers are in flight, but little for it to copy. */
const MAX_UNANSWERED_BYTES = 256 * 1024
/** Signals that have a name in SSH (RFC 4254, section 6.10); others are reported as an exit status. */
const NAMED_SIGNAL = /^SIG(?:ABRT|ALRM|FPE|HUP|ILL|INT|KILL|PIPE|QUIT|SEGV|TERM|USR1|USR2)$/

/** Runs sftp-server from the first path where a distribution installs it. */
const SFTP_SERVER = `
for dir in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec /usr/lib64/ssh; do
  [ -x "$dir/sftp-server" ] && exec "$dir/sftp-server"
done
echo "this image has no sftp-server; install openssh-sftp-server in it" >&2
exit 127`

type Program =
  { readonly is: 'shell' } | { readonly is: 'command'; readonly command: string } | { readonly is: 'sftp' }
type Terminal = { columns: number; rows: number; name: string; modes: TerminalModes }

/** Access to the workspace, or the error why it was denied. */
export type AccessResult =
  | { readonly is: 'granted'; readonly access: WorkspaceAccess }
  | { readonly is: 'denied'; readonly error: unknown }

/** The user, workspace and connection of a session. */
export interface SessionTarget {
  /** The SSH user name as the client sent it. */
  readonly user: string
  /** Pending only while the workspace starts. */
  readonly access: Promise<AccessResult>
  readonly agent: AgentForward
  /** `client-ip client-port server-ip server-port`, in OpenSSH's format. */
  readonly connection: string
  /** Aborts when the connection closes. */
  readonly gone: AbortSignal
  /** The running programs of all sessions. */
  readonly running: Set<ExecProcess>
}

/** Serves one SSH session: a shell, command or sftp inside the workspace, with or without a terminal. */
export function serveSession(session: Session, target: SessionTarget, logger: Logger): void {
  const variables: Record<string, string> = {}
  let terminal: Terminal | undefined
  let running: Promise<ExecProcess> | undefined
  let agent: Promise<string | undefined> | undefined
  let isEntered = false
  void target.access.then(() => (isEntered = true))

  session.on('env', (accept, reject, { key, val }) => {
    const isAllowed = ALLOWED_VARIABLE.test(key) && val.length <= 1024
    if (isAllowed) variables[key] = val
    ;(isAllowed ? accept : reject)?.()
  })
  session.on('auth-agent', (accept) => {
    agent = listenForAgent(target)
    // Not every client requests a reply, and one must not wait: clients match replies by their order.
    accept?.()
  })
  session.on('pty', (accept, _reject, info) => {
    const { term, modes } = info as unknown as { readonly term: string; readonly modes: TerminalModes }
    terminal = { ...sizeOf(info), name: term || 'xterm', modes }
    accept?.()
  })
  session.on('window-change', (accept, _reject, info) => {
    accept?.()
    const { columns, rows } = sizeOf(info)
    if (terminal !== undefined) terminal = { ...terminal, columns, rows }
    void running
      ?.then((process) => process.resize(columns, rows))
      .catch(ignore('a failed start is reported to the client'))
  })
  session.on('signal', (accept, _reject, { name }) => {
    accept?.()
    void running
      ?.then((process) => process.signal(`SIG${name}` as NodeJS.Signals))
      .catch(ignore('a failed start is reported to the client, and the program may have exited'))
  })
  // A long user name must not inflate log lines.
  const workspace = target.user.slice(0, LOGGED_NAME_LENGTH)
  const run = (channel: ServerChannel, program: Program): void => {
    running = start(target, program, terminal, variables, agent)
    if (terminal !== undefined && !isEntered) channel.write(STARTING)
    let isClosed = false
    // The session's close event precedes the channel's, which waits until all input is read.
    session.once('close', () => (isClosed = true))
    const kind = { isTerminal: terminal !== undefined, isSftp: program.is === 'sftp' }
    void connect(channel, running, kind, target).catch((error: unknown) => {
      // A client that disconnects while its program runs is not a failure.
      if (isClosed || target.gone.aborted) {
        logger.debug({ workspace }, 'SSH client disconnected while its program was running')
        return
      }
      if (isFault(error)) logger.info({ code: error.code, workspace }, error.message)
      else logger.error({ err: error, workspace }, 'SSH session failed')
      refuse(channel, isFault(error) ? error.message : 'the session failed; see the server log')
    })
  }
  session.on('shell', (accept) => run(accept(), { is: 'shell' }))
  session.on('exec', (accept, _reject, { command }) => run(accept(), { is: 'command', command }))
  // Not ssh2's own 'sftp': OpenSSH's server inside the workspace supports every operation its clients use.
  session.on('subsystem', (accept, reject, { name }) => {
    if (name === 'sftp') run(accept(), { is: 'sftp' })
    else reject()
  })
}

/** Returns the path of the agent's socket inside; undefined if there can be none. */
async function listenForAgent({ access, agent }: SessionTarget): Promise<string | undefined> {
  const result = await access
  const isPossible = result.is === 'granted' && result.access.backend.canListenInside(result.access.name)
  return isPossible ? agent.listen(result.access) : undefined
}

async function start(
  target: SessionTarget,
  program: Program,
  terminal: Terminal | undefined,
  variables: Readonly<Record<string, string>>,
  agent: Promise<string | undefined> | undefined,
): Promise<ExecProcess> {
  const result = await target.access
  if (result.is === 'denied') throw result.error
  if (program.is === 'command') checkArgument('command', program.command)
  const { backend, name } = result.access
  const [login, agentSocket] = await Promise.all([backend.loginEnvironment(name), agent])
  const argv = argvOf(program, login)
  return backend.exec(name, {
    argv: terminal === undefined ? argv : inTerminal(argv, terminal.modes),
    environment: {
      ...environmentOf(login, target, terminal, variables),
      ...(agentSocket !== undefined && { SSH_AUTH_SOCK: agentSocket }),
    },
    ...(terminal !== undefined && { terminal }),
  })
}

function argvOf(program: Program, login: LoginEnvironment): readonly string[] {
  if (program.is === 'shell') return [login.shell, '-l']
  return program.is === 'command' ? [login.shell, '-c', program.command] : ['/bin/sh', '-c', SFTP_SERVER]
}

function environmentOf(
  login: LoginEnvironment,
  target: SessionTarget,
  terminal: Terminal | undefined,
  variables: Readonly<Record<string, string>>,
): Record<string, string> {
  const [clientIp, clientPort, , serverPort] = target.connection.split(' ')
  return {
    ...variables,
    ...loginVariables(login),
    SSH_CONNECTION: target.connection,
    SSH_CLIENT: `${clientIp} ${clientPort} ${serverPort}`,
    ...(terminal !== undefined && { TERM: terminal.name }),
  }
}

/** Pipes the channel and the program into each other until the program has exited and its last byte is sent. */
async function connect(
  channel: ServerChannel,
  running: Promise<ExecProcess>,
  { isTerminal, isSftp }: { readonly isTerminal: boolean; readonly isSftp: boolean },
  { running: all, gone }: SessionTarget,
): Promise<void> {
  const process = await running
  all.add(process)
  // A channel whose input is never read does not emit close.
  const forget = hangUpOnAbort(gone, process)
  void process.exitStatus.catch(ignore('the session awaits it too, and reports it')).finally(() => {
    all.delete(process)
    forget()
  })
  let hasExited = false
  const hangUp = (): void => {
    if (!hasExited) void process.hangUp()
  }
  // The client may disconnect before the program has started.
  if (channel.destroyed) return hangUp()
  channel.once('close', hangUp)
  channel.on('error', () => undefined)
  if (isTerminal) await untilReady(process.stdout)
  // EOF from a client with a terminal means Ctrl-D.
  if (isTerminal) channel.on('end', () => process.stdin.write('\x04'))
  const pace = isSftp ? sftpPace(MAX_UNANSWERED_BYTES) : undefined
  if (pace === undefined) channel.pipe(process.stdin, { end: !isTerminal })
  else channel.pipe(pace.requests).pipe(process.stdin)
  process.stdin.on('error', () => undefined)

  await Promise.all([
    pipeline([process.stdout, ...(pace === undefined ? [] : [pace.answers]), channel], {
      end: false,
      signal: gone,
    }),
    isTerminal ? undefined : pipeline(process.stderr, channel.stderr, { end: false, signal: gone }),
  ])
  const status = await process.exitStatus
  hasExited = true
  channel.unpipe(process.stdin)
  await end(channel, status)
}

/** Reports the exit status and closes the channel. Standard error ends first, because ssh2 drops what is left of it when the channel ends. */
async function end(
  channel: ServerChannel,
  { status, signal, hasDumpedCore = false }: ExitStatus,
): Promise<void> {
  channel.stderr.end()
  await finished(channel.stderr).catch(ignore('the client may have disconnected'))
  if (signal !== undefined && NAMED_SIGNAL.test(signal)) channel.exit(signal, hasDumpedCore)
  else channel.exit(status)
  channel.end()
}

function refuse(channel: ServerChannel, message: string): void {
  channel.stderr.write(`${message}\r\n`)
  void end(channel, { status: FAILED })
}

function sizeOf(info: { readonly cols: number; readonly rows: number }): { columns: number; rows: number } {
  return { columns: bounded(info.cols, 80), rows: bounded(info.rows, 24) }
}

function bounded(size: number, fallback: number): number {
  return size > 0 ? Math.min(size, MAX_COLUMNS) : fallback
}
