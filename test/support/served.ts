import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { type Api, apiOf } from './workspace/server/test-server.ts'

const ENTRY = fileURLToPath(new URL('../../src/bin/workspace.ts', import.meta.url))

/** A server in a separate process. */
export interface Served {
  readonly url: string
  readonly api: Api
  readonly sshPort: number
  readonly child: ChildProcess
  /** Sends a signal and waits for the exit; resolves with the status or the signal's name. */
  readonly end: (signal: NodeJS.Signals) => Promise<number | string>
  readonly log: () => string
}

/** Options of a workspace server in its own process. */
export interface ServeOptions {
  readonly stateDir: string
  /** Address of the engine, `unix:///…`; default the machine's engine. */
  readonly engine?: string
  /** Additional configuration. */
  readonly settings?: Readonly<Record<string, unknown>>
  readonly httpPort?: number
  readonly sshPort?: number
  /** Limit of open files; default that of the test process. */
  readonly openFiles?: number
}

/** Starts `workspace serve` on free ports; it is killed when the test ends. */
export function spawnServer(options: ServeOptions): {
  readonly child: ChildProcess
  /** Resolves with the exit status or signal and all output. */
  readonly ended: Promise<{ readonly how: number | string; readonly output: string }>
  readonly ready: Promise<Served>
} {
  const { stateDir, engine, settings, httpPort = 0, sshPort = 0, openFiles } = options
  const config = join(stateDir, '..', `${process.pid}-${Math.random().toString(36).slice(2)}.yaml`)
  const docker = { network: 'host', ...(engine && { host: engine }) }
  writeFileSync(config, JSON.stringify({ docker, ...settings }))
  const flags = { config, 'state-dir': stateDir, 'http-port': httpPort, 'ssh-port': sshPort }
  const argv = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, String(value)])
  const limit = openFiles === undefined ? [] : ['prlimit', `--nofile=${openFiles}:${openFiles}`]
  const [program = '', ...words] = [...limit, process.execPath, ENTRY, 'serve', ...argv]
  const child = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  const exit = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  const ended = exit.then((how) => ({ how, output }))
  const ready = new Promise<Served>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      output += `${line}\n`
      if (!line.includes('"workspace server is ready"')) return
      const said = JSON.parse(line) as { http: number; ssh: number }
      const url = `http://127.0.0.1:${said.http}`
      resolve({
        url,
        api: apiOf(url),
        sshPort: said.ssh,
        child,
        end: (signal) => {
          child.kill(signal)
          return exit
        },
        log: () => output,
      })
    })
    void exit.then((how) => reject(new Error(`the server ended (${how}) before it was ready: ${output}`)))
  })
  ready.catch(() => undefined)
  return { child, ended, ready }
}

/** Starts a server in a separate process and waits until it is ready. */
export function serve(options: ServeOptions): Promise<Served> {
  return spawnServer(options).ready
}
