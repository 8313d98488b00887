import { finished, pipeline } from 'node:stream/promises'
import type { PseudoTtyInfo, ServerChannel, Session } from '../../../lib/ssh/ssh2.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { ExecProcess, ExitStatus, LoginEnvironment } from '../../backend/backend.ts'
import { hangUpOnAbort } from '../../backend/follow-program.ts'
import { fault } from '../../errors.ts'
import type { AgentForward } from './agent-forward.ts'
import type { Entered } from './gate.ts'
import { sftpPace } from './sftp-pace.ts'

/** What SSH clients may set (threat S4): LD_PRELOAD and its like would decide what runs. */
const ALLOWED_VARIABLE = /^(?:LANG|LC_\w*|TERM)$/
/** Linux passes no longer argument to a program (MAX_ARG_STRLEN, which counts the NUL that ends it). */
const MAX_COMMAND_BYTES = 131_071
/** What ssh itself ends with when it could not do what it was asked. */
const FAILED = 255
const MAX_COLUMNS = 4096
const LOGGED_NAME_LENGTH = 64
/** Keeps sftp-server busy while its answers travel here, and leaves it little to copy. */
const MAX_UNANSWERED_BYTES = 256 * 1024
/** Signals that have a name in SSH (RFC 4254, section 6.10); of others the status tells. */
const TOLD_SIGNAL = /^SIG(?:ABRT|ALRM|FPE|HUP|ILL|INT|KILL|PIPE|QUIT|SEGV|TERM|USR1|USR2)$/

/** Where distributions put it. */
const SFTP_SERVER = `
for dir in /usr/lib/openssh /usr/libexec/openssh /usr/lib/ssh /usr/libexec /usr/lib64/ssh; do
  [ -x "$dir/sftp-server" ] && exec "$dir/sftp-server"
done
echo "this image has no sftp-server; install openssh-sftp-server in it" >&2
exit 127`

type Program =
  { readonly is: 'shell' } | { readonly is: 'command'; readonly command: string } | { readonly is: 'sftp' }
type Terminal = { columns: number; rows: number; name: string }

/** Where a user has come in, or why they have not. */
export type Entry =
  { readonly is: 'entered'; readonly at: Entered } | { readonly is: 'refused'; readonly why: unknown }

export interface SessionTarget {
  /** As the client wrote it. */
  readonly user: string
  /** Known before the session begins: what it asks for has to be answered at once. */
  readonly entry: Entry
  readonly agent: AgentForward
  /** `client-ip client-port server-ip server-port`, as OpenSSH puts it. */
  readonly connection: string
  /** Aborted when the connection has closed. */
  readonly gone: AbortSignal
  /** The programs of all sessions, each from its start to its end. */
  readonly running: Set<ExecProcess>
}

/** Serves one SSH session: a shell or a command inside the workspace, with or without a terminal. */
export function serveSession(session: Session, target: SessionTarget, logger: Logger): void {
  const variables: Record<string, string> = {}
  let terminal: Terminal | undefined
  let running: Promise<ExecProcess> | undefined
  let agent: Promise<string | undefined> | undefined

  session.on('env', (accept, reject, { key, val }) => {
    const isAllowed = ALLOWED_VARIABLE.test(key) && val.length <= 1024
    if (isAllowed) variables[key] = val
    ;(isAllowed ? accept : reject)?.()
  })
  session.on('auth-agent', (accept, reject) => {
    const { entry } = target
    const isPossible = entry.is === 'entered' && entry.at.backend.canListenInside(entry.at.name)
    if (isPossible) agent = target.agent.listen(entry.at)
    // Not every client wants to know.
    ;(isPossible ? accept : reject)?.()
  })
  session.on('pty', (accept, _reject, info) => {
    terminal = { ...sizeOf(info), name: (info as PseudoTtyInfo & { term?: string }).term || 'xterm' }
    accept?.()
  })
  session.on('window-change', (accept, _reject, info) => {
    accept?.()
    const { columns, rows } = sizeOf(info)
    if (terminal !== undefined) terminal = { ...terminal, columns, rows }
    void running?.then((process) => process.resize(columns, rows)).catch(() => undefined)
  })
  session.on('signal', (accept, _reject, { name }) => {
    accept?.()
    void running?.then((process) => process.signal(`SIG${name}` as NodeJS.Signals)).catch(() => undefined)
  })
  // Whatever a client calls itself, a line of the log stays short.
  const workspace = target.user.slice(0, LOGGED_NAME_LENGTH)
  const run = (channel: ServerChannel, program: Program): void => {
    running = start(target, program, terminal, variables, agent)
    let isClosed = false
    // The session's event comes before the channel's, which waits until all input is read.
    session.once('close', () => (isClosed = true))
    const kind = { isTerminal: terminal !== undefined, isSftp: program.is === 'sftp' }
    void connect(channel, running, kind, target).catch((error: unknown) => {
      // A client that leaves while its program runs is no failure.
      if (isClosed || target.gone.aborted) {
        logger.debug({ workspace }, 'an SSH client left while its program ran')
        return
      }
      if (isFault(error)) logger.info({ code: error.code, workspace }, error.message)
      else logger.error({ err: error, workspace }, 'an SSH session failed')
      refuse(channel, isFault(error) ? error.message : 'the session failed; the server log says why')
    })
  }
  session.on('shell', (accept) => run(accept(), { is: 'shell' }))
  session.on('exec', (accept, _reject, { command }) => run(accept(), { is: 'command', command }))
  // Not ssh2's own 'sftp': OpenSSH's server inside the workspace knows every operation its clients do.
  session.on('subsystem', (accept, reject, { name }) => {
    if (name === 'sftp') run(accept(), { is: 'sftp' })
    else reject()
  })
}

async function start(
  target: SessionTarget,
  program: Program,
  terminal: Terminal | undefined,
  variables: Readonly<Record<string, string>>,
  agent: Promise<string | undefined> | undefined,
): Promise<ExecProcess> {
  if (target.entry.is === 'refused') throw target.entry.why
  if (program.is === 'command') checkCommand(program.command)
  const { backend, name } = target.entry.at
  const [login, agentSocket] = await Promise.all([backend.loginEnvironment(name), agent])
  return backend.exec(name, {
    argv: argvOf(program, login),
    environment: {
      ...environmentOf(login, target, terminal, variables),
      ...(agentSocket !== undefined && { SSH_AUTH_SOCK: agentSocket }),
    },
    ...(terminal !== undefined && { terminal }),
  })
}

/** @throws INVALID_REQUEST for a command that no program can be given */
function checkCommand(command: string): void {
  const bytes = Buffer.byteLength(command)
  if (bytes > MAX_COMMAND_BYTES)
    throw fault(
      'INVALID_REQUEST',
      `the command has ${bytes} bytes and a program accepts at most ${MAX_COMMAND_BYTES}; send a script to standard input: bash -s < script`,
    )
  if (command.includes('\0')) throw fault('INVALID_REQUEST', 'the command has a NUL byte')
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
    USER: login.user,
    LOGNAME: login.user,
    HOME: login.home,
    SHELL: login.shell,
    SSH_CONNECTION: target.connection,
    SSH_CLIENT: `${clientIp} ${clientPort} ${serverPort}`,
    ...(terminal !== undefined && { TERM: terminal.name }),
  }
}

/** Joins the channel and the program until the program has ended and its last byte is sent. */
async function connect(
  channel: ServerChannel,
  running: Promise<ExecProcess>,
  { isTerminal, isSftp }: { readonly isTerminal: boolean; readonly isSftp: boolean },
  { running: all, gone }: SessionTarget,
): Promise<void> {
  const process = await running
  all.add(process)
  // A channel whose input nobody reads never closes.
  const forget = hangUpOnAbort(gone, process)
  void process.exitStatus
    .catch(() => undefined)
    .finally(() => {
      all.delete(process)
      forget()
    })
  let isOver = false
  const leave = (): void => {
    if (!isOver) void process.hangUp().catch(() => undefined)
  }
  // The client can be gone before the program has begun.
  if (channel.destroyed) return leave()
  channel.once('close', leave)
  channel.on('error', () => undefined)
  // A client that sends its end of input to a terminal means the key that says so.
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
  isOver = true
  channel.unpipe(process.stdin)
  await end(channel, status)
}

/** ssh2 drops what is left of standard error when the channel ends before it. */
async function end(
  channel: ServerChannel,
  { status, signal, hasDumpedCore = false }: ExitStatus,
): Promise<void> {
  channel.stderr.end()
  await finished(channel.stderr).catch(() => undefined)
  if (signal !== undefined && TOLD_SIGNAL.test(signal)) channel.exit(signal, hasDumpedCore)
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
