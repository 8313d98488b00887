import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { endGroup } from '../../lib/process/end-group.ts'
import { requestFor } from '../../lib/http/node-http.ts'
import type { HealthCheck } from '../process-spec.ts'
import type { Probe } from './health-monitor.ts'
import type { ProbeResult } from './health.ts'

const MAX_OUTPUT_BYTES = 4_096

/** Where a check's command runs. */
export interface ProbePlace {
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly user: { readonly uid: number; readonly gid: number } | undefined
}

/** A kind of check that asks again and again. */
export type PolledProbe = Exclude<HealthCheck['probe'], { readonly kind: 'log' }>

/** The probe that a check describes. It ends, with all that it started, when its signal says so. */
export function createProbe(probe: PolledProbe, place: ProbePlace): Probe {
  if (probe.kind === 'exec') return (signal) => runCommand(probe.command, place, signal)
  if (probe.kind === 'http') return (signal) => askHttp(probe, signal)
  return (signal) => connectTcp(probe.host, probe.port, signal)
}

/** Runs a command of a process's settings to its end. It ends, with all that it started, when the signal says so. */
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
      // A group of its own, so that what it starts ends with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...user,
    })
    const end = (): void => {
      endGroup(child.pid, 'SIGKILL')
      reject(new Error('the check was ended'))
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
      // Whoever it left behind may hold its output open.
      child.stdout.destroy()
      child.stderr.destroy()
      const how = code === 0 ? '' : `the check ended with ${by === null ? `code ${code}` : `signal ${by}`}`
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
