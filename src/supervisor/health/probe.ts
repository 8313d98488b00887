import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { endGroup } from '../../lib/process/end-group.ts'
import { requestFor } from '../../lib/http/node-http.ts'
import type { HealthCheck } from '../process-spec.ts'
import type { Probe } from './health-monitor.ts'
import type { ProbeResult } from './health.ts'

const MAX_OUTPUT_BYTES = 4_096

/** Working directory, environment and user of a check's command. */
export interface ProbePlace {
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly user: { readonly uid: number; readonly gid: number } | undefined
}

/** A check that polls. */
export type PolledProbe = Exclude<HealthCheck['probe'], { readonly kind: 'log' }>

/** Creates a check's probe. It stops, with everything it started, when its signal aborts. */
export function createProbe(probe: PolledProbe, place: ProbePlace): Probe {
  if (probe.kind === 'exec') return (signal) => runCommand(probe.command, place, signal)
  if (probe.kind === 'http') return (signal) => askHttp(probe, signal)
  return (signal) => connectTcp(probe.host, probe.port, signal)
}

/** Runs a command from a process's settings. It is killed, with everything it started, when the signal aborts. */
export function runCommand(
  command: string | readonly string[],
  { cwd, environment, user }: ProbePlace,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const [program = '', ...argv] = typeof command === 'string' ? ['/bin/sh', '-c', command] : command
  return new Promise((resolve, reject) => {
    const child = spawn(program, argv, {
      cwd,
      env: { ...environment },
      // A separate group, so that everything it starts is killed with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...user,
    })
    const end = (): void => {
      endGroup(child.pid, 'SIGKILL')
      reject(new Error('the check was stopped'))
    }
    signal.addEventListener('abort', end, { once: true })
    let output = ''
    const take = (bytes: Buffer): void => {
      if (output.length < MAX_OUTPUT_BYTES) output += bytes.toString()
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.on('error', reject)
    child.on('exit', (code, by) => {
      signal.removeEventListener('abort', end)
      // Background processes may keep its output open.
      child.stdout.destroy()
      child.stderr.destroy()
      const how = code === 0 ? '' : `the check exited with ${by === null ? `code ${code}` : `signal ${by}`}`
      resolve({ isHealthy: code === 0, output: output.trimEnd() || how })
    })
  })
}

function askHttp(
  { url, headers, status }: Extract<HealthCheck['probe'], { readonly kind: 'http' }>,
  signal: AbortSignal,
): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const ask = requestFor(new URL(url))
    ask(url, { signal, headers, agent: false }, (response) => {
      const { statusCode = 0 } = response
      response.destroy()
      const isHealthy = status === undefined ? statusCode >= 200 && statusCode < 400 : statusCode === status
      resolve({ isHealthy, output: `status ${statusCode}` })
    })
      .on('error', reject)
      .end()
  })
}

function connectTcp(host: string, port: number, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, signal })
    socket.on('error', reject)
    socket.on('connect', () => {
      socket.destroy()
      resolve({ isHealthy: true, output: `port ${port} of ${host} accepts connections` })
    })
  })
}
