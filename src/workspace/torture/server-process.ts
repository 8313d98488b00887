import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import { fault } from '../errors.ts'
import { LAUNCHER } from '../../lib/process/end-with-launcher.ts'
import { siblingModule } from '../../lib/process/sibling.ts'
import type { ClockShift } from './clock-shift.ts'

const READY = 'workspace server is ready'
const SHOWN_LOG_LINES = 5
const STOP_LIMIT_MS = 60_000
/** Time in which the last lines of a server that has exited are read. */
const LAST_LINES_MS = 1_000

/** How to start a server. */
export interface ServerCommand {
  /** Entry file of the program `workspace`. */
  readonly entry: string
  readonly configFile: string
  readonly stateDir: string
  /** File to which its log is appended. */
  readonly logFile: string
  readonly environment: NodeJS.ProcessEnv
}

/** A running server in a separate process. */
export interface RunningServer {
  readonly pid: number
  readonly httpPort: number
  readonly sshPort: number
  readonly onExit: (listener: () => void) => void
  /** Kills it and waits until it no longer exists. */
  readonly kill: () => Promise<void>
  /** Asks it to stop; resolves with its exit status, the signal that ended it, or that it did not exit within 60 s. */
  readonly stop: () => Promise<number | string>
  /** Shifts the clock that it reads. */
  readonly shiftClock: (ms: number) => Promise<void>
}

/** A server that is starting. */
interface StartingServer {
  readonly ready: Promise<RunningServer>
  readonly kill: () => Promise<void>
}

/** Starts a server. */
export type StartServer = (command: ServerCommand) => StartingServer

/** Starts `workspace serve`; `ready` rejects with BACKEND_UNAVAILABLE when it exits first. */
export const startServer: StartServer = ({ entry, configFile, stateDir, logFile, environment }) => {
  const preload = ['--import', siblingModule(import.meta.url, './clock-shift').href]
  const argv = [...preload, entry, 'serve', '--config', configFile, '--state-dir', stateDir]
  const child = spawn(process.execPath, argv, {
    // Interrupts from the terminal reach only this process, which stops the server itself.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...environment, [LAUNCHER]: String(process.pid) },
  })
  // Processes that it has left may keep its log open.
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 })
  const ready = new Promise<RunningServer>((resolve, reject) => {
    const last: string[] = []
    createInterface({ input: child.stderr as NodeJS.ReadableStream }).on('line', (line) => {
      log.write(`${line}\n`)
      last.push(line)
      if (last.length > SHOWN_LOG_LINES) last.shift()
      const ports = portsIn(line)
      if (ports !== undefined) resolve({ ...ports, ...controls(child, ended), kill })
    })
    child.once('close', () => log.end())
    const isRead = once(child, 'close')
    const refuse = async (how: number | string): Promise<void> => {
      await Promise.race([isRead, delay(LAST_LINES_MS, undefined, { ref: false })])
      child.stderr?.destroy()
      reject(fault('BACKEND_UNAVAILABLE', `the server did not start (${how}): ${last.join(' ')}`))
    }
    void ended.then(refuse)
  })
  ready.catch(ignore('its caller may kill it before it is ready'))
  return { ready, kill }
}

function controls(child: ChildProcess, ended: Promise<number | string>) {
  return {
    pid: child.pid ?? 0,
    onExit: (listener: () => void): void => void child.once('exit', listener),
    stop: (): Promise<number | string> => {
      child.kill('SIGTERM')
      return Promise.race([ended, delay(STOP_LIMIT_MS, 'no exit within 60 s', { ref: false })])
    },
    shiftClock: async (shiftMs: number): Promise<void> => {
      const answered = Promise.race([once(child, 'message'), ended])
      child.send({ shiftMs } satisfies ClockShift)
      await answered
    },
  }
}

function portsIn(line: string): { readonly httpPort: number; readonly sshPort: number } | undefined {
  if (!line.includes(READY)) return undefined
  const { http, ssh } = JSON.parse(line) as { readonly http: number; readonly ssh: number }
  return { httpPort: http, sshPort: ssh }
}
