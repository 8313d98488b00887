import { finished, pipeline } from 'node:stream/promises'
import type { PseudoTtyInfo, ServerChannel, Session } from 'ssh2'
import { isFault } from '../../../lib/errors/fault.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { Backend, ExecProcess, LoginEnvironment } from '../../backend/backend.ts'

/** What SSH clients may set (threat S4): LD_PRELOAD and its like would decide what runs. */
const ALLOWED_VARIABLE = /^(?:LANG|LC_[A-Z]+|TERM)$/
/** What ssh itself ends with when it could not do what it was asked. */
const FAILED = 255
const MAX_COLUMNS = 4096

type Terminal = { columns: number; rows: number; name: string }

export interface SessionTarget {
  /** As the client wrote it. */
  readonly user: string
  /** Where the workspace runs, and its name; throws a fault with a sentence for the user when it cannot be entered. */
  readonly enter: () => { readonly backend: Backend; readonly name: string }
  /** `client-ip client-port server-ip server-port`, as OpenSSH puts it. */
  readonly connection: string
}

/** Serves one SSH session: a shell or a command inside the workspace, with or without a terminal. */
export function serveSession(session: Session, target: SessionTarget, logger: Logger): void {
  const variables: Record<string, string> = {}
  let terminal: Terminal | undefined
  let running: Promise<ExecProcess> | undefined

  session.on('env', (accept, reject, { key, val }) => {
    const isAllowed = ALLOWED_VARIABLE.test(key) && val.length <= 1024
    if (isAllowed) variables[key] = val
    ;(isAllowed ? accept : reject)?.()
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
  const run = (channel: ServerChannel, command: string | undefined): void => {
    running = start(target, command, terminal, variables)
    let isGone = false
    channel.once('close', () => (isGone = true))
    void connect(channel, running, terminal !== undefined).catch((error: unknown) => {
      if (isGone) return
      if (!isFault(error)) logger.error({ err: error, workspace: target.user }, 'an SSH session failed')
      refuse(channel, isFault(error) ? error.message : 'the session failed; the server log says why')
    })
  }
  session.on('shell', (accept) => run(accept(), undefined))
  session.on('exec', (accept, _reject, { command }) => run(accept(), command))
}

async function start(
  target: SessionTarget,
  command: string | undefined,
  terminal: Terminal | undefined,
  variables: Readonly<Record<string, string>>,
): Promise<ExecProcess> {
  const { backend, name } = target.enter()
  const login = await backend.loginEnvironment(name)
  return backend.exec(name, {
    argv: command === undefined ? [login.shell, '-l'] : [login.shell, '-c', command],
    environment: environmentOf(login, target, terminal, variables),
    ...(terminal !== undefined && { terminal }),
  })
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
  isTerminal: boolean,
): Promise<void> {
  const process = await running
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
  channel.pipe(process.stdin, { end: !isTerminal })
  process.stdin.on('error', () => undefined)

  await Promise.all([
    pipeline(process.stdout, channel, { end: false }),
    isTerminal ? undefined : pipeline(process.stderr, channel.stderr, { end: false }),
  ])
  const status = await process.exitStatus
  isOver = true
  channel.unpipe(process.stdin)
  await end(channel, status)
}

/** ssh2 drops what is left of standard error when the channel ends before it. */
async function end(channel: ServerChannel, status: number): Promise<void> {
  channel.stderr.end()
  await finished(channel.stderr).catch(() => undefined)
  channel.exit(status)
  channel.end()
}

function refuse(channel: ServerChannel, message: string): void {
  channel.stderr.write(`${message}\r\n`)
  void end(channel, FAILED)
}

function sizeOf(info: { readonly cols: number; readonly rows: number }): { columns: number; rows: number } {
  return { columns: bounded(info.cols, 80), rows: bounded(info.rows, 24) }
}

function bounded(size: number, fallback: number): number {
  return size > 0 ? Math.min(size, MAX_COLUMNS) : fallback
}
