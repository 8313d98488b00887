import { connect } from 'node:net'
import { hostOptions } from '../../lib/connection/localhost.ts'
import { requestFor } from '../../lib/http/node-http.ts'
import { invalidResponse, MAX_HEAD_BYTES } from '../../lib/http/head-limit.ts'
import type { HealthCheck } from '../process-spec.ts'
import type { Probe } from './health-monitor.ts'
import { type CommandPlace, runCommand } from './run-command.ts'
import type { ProbeResult } from './health.ts'

/** A check that polls. */
type PolledProbe = Exclude<HealthCheck['probe'], { readonly kind: 'log' }>

/** Creates a check's probe. It stops, with everything it started, when its signal aborts. */
export function createProbe(probe: PolledProbe, place: CommandPlace): Probe {
  if (probe.kind === 'exec')
    return async (signal) => {
      const { isDone, output } = await runCommand(probe.command, place, signal)
      return { isHealthy: isDone, output }
    }
  if (probe.kind === 'http') return (signal) => askHttp(probe, signal)
  return (signal) => connectTcp(probe.host, probe.port, signal)
}

function askHttp(
  { url, headers, status }: Extract<HealthCheck['probe'], { readonly kind: 'http' }>,
  signal: AbortSignal,
): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const target = new URL(url)
    const ask = requestFor(target)
    const options = {
      ...hostOptions(target.hostname),
      signal,
      headers,
      agent: false,
      maxHeaderSize: MAX_HEAD_BYTES,
    }
    ask(target, options, (response) => {
      const { statusCode = 0 } = response
      response.destroy()
      const isHealthy = status === undefined ? statusCode >= 200 && statusCode < 400 : statusCode === status
      resolve({ isHealthy, output: `status ${statusCode}` })
    })
      .on('error', (error) => {
        const invalid = invalidResponse(error)
        reject(invalid === undefined ? error : new Error(invalid, { cause: error }))
      })
      .end()
  })
}

function connectTcp(host: string, port: number, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...hostOptions(host), port, signal })
    socket.on('error', reject)
    socket.on('connect', () => {
      socket.destroy()
      resolve({ isHealthy: true, output: `port ${port} of ${host} accepts connections` })
    })
  })
}
