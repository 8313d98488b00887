import { Type } from '../../lib/schema/type.ts'
import type { Diagnosis } from '../diagnosis/diagnose.ts'
import type { ExpectedPort } from '../diagnosis/expected-ports.ts'
import { HEALTHS } from '../health/health.ts'
import { statusOf, STATUSES } from '../process/process-state.ts'
import type { HealthCheck } from '../process-spec.ts'
import { createLogEncoder } from './log.ts'
import { maskQuery, maskText } from './mask.ts'
import { commandToText, summaryToWire, timeToWire } from './process.ts'
import { requestToWire } from './request.ts'

const optionalTime = Type.Union([Type.String(), Type.Null()])
const optionalText = Type.Union([Type.String(), Type.Null()])
const optionalInteger = Type.Union([Type.Integer(), Type.Null()])

/** Schema of an explanation of a process's state. */
export const whySchema = Type.Object(
  {
    name: Type.String(),
    status: Type.Enum(STATUSES),
    health: Type.Enum(HEALTHS),
    pid: Type.Integer({ description: '0 if it is not running' }),
    reason: Type.String({ description: 'reason of the status in words' }),
    since: optionalTime,
    last_exit: Type.Union([
      Type.Null(),
      Type.Object({
        timestamp: Type.String(),
        description: Type.String(),
        status: optionalInteger,
        signal: optionalText,
        out_of_memory: Type.Boolean({ description: 'true only if the kernel counted it' }),
        requested: Type.Boolean(),
        uptime_seconds: Type.Integer(),
      }),
    ]),
    output: Type.Array(Type.Ref('LogEntry'), { description: 'last lines, each cut at 1,000 characters' }),
    healthcheck: Type.Union([
      Type.Null(),
      Type.Object({
        check: Type.String(),
        consecutive_failures: Type.Integer(),
        retries: Type.Integer(),
        failures: Type.Array(Type.Object({ timestamp: Type.String(), output: Type.String() })),
      }),
    ]),
    dependencies: Type.Array(
      Type.Object({
        name: Type.String(),
        condition: Type.String(),
        met: Type.Boolean(),
        status: Type.Enum(STATUSES),
        health: Type.Enum(HEALTHS),
        reason: Type.String(),
      }),
    ),
    ports: Type.Array(
      Type.Object({
        port: Type.Integer(),
        source: Type.String({ description: 'key that names the port, or output' }),
        holder: Type.Union([
          Type.Null(),
          Type.Object({
            pid: optionalInteger,
            command: optionalText,
            user: Type.String(),
            process: Type.Union([Type.String(), Type.Null()], {
              description: 'the process of this supervisor that it belongs to',
            }),
          }),
        ]),
      }),
    ),
    restarts: Type.Integer(),
    starts: Type.Array(Type.Object({ timestamp: Type.String(), reason: Type.String() }), {
      description: 'last attempts to start it, oldest first',
    }),
    next_attempt: optionalTime,
    next_run: optionalTime,
    failed_requests: Type.Array(Type.Ref('ProxyRequest'), {
      description: 'last proxied requests with a status of 500 or more, newest first',
    }),
    advice: Type.Array(Type.String(), { description: 'what to do, most important first' }),
  },
  { $id: 'Why' },
)

/** Converts an explanation to its wire form, with secrets masked. */
export function whyToWire({ process, ...diagnosis }: Diagnosis) {
  const { runSpec: spec, health, history, restarts } = process
  const { lastExit } = history
  const { name, status, pid } = summaryToWire(process)
  return {
    name,
    status,
    health: health.health,
    pid,
    reason: maskText(diagnosis.reason),
    since: timeToWire(history.changes.at(-1)?.atMs),
    last_exit:
      lastExit === undefined
        ? null
        : {
            timestamp: new Date(lastExit.atMs).toISOString(),
            description: maskText(diagnosis.lastExit ?? ''),
            status: lastExit.exit.code ?? null,
            signal: lastExit.exit.signal ?? null,
            out_of_memory: lastExit.exit.isOutOfMemory ?? false,
            requested: lastExit.isRequested,
            uptime_seconds: Math.floor(lastExit.uptimeMs / 1_000),
          },
    output: diagnosis.lines.map(createLogEncoder()),
    healthcheck:
      spec.healthCheck === undefined
        ? null
        : {
            check: checkToText(spec.healthCheck.probe),
            consecutive_failures: health.consecutiveFailures,
            retries: spec.healthCheck.retries,
            failures: history.failedChecks.map(({ atMs, output }) => ({
              timestamp: new Date(atMs).toISOString(),
              output: maskText(output),
            })),
          },
    dependencies: diagnosis.dependencies.map(({ process: needed, condition, isMet }) => ({
      name: needed.spec.name,
      condition,
      met: isMet,
      status: statusOf(needed.state),
      health: needed.health.health,
      reason: maskText(summaryToWire(needed).reason),
    })),
    ports: diagnosis.ports.map(portToWire),
    restarts,
    starts: history.starts.map(({ atMs, reason }) => ({ timestamp: new Date(atMs).toISOString(), reason })),
    next_attempt: timeToWire(diagnosis.nextAttemptMs),
    next_run: timeToWire(diagnosis.nextRunMs),
    failed_requests: diagnosis.failedRequests.toReversed().map(requestToWire),
    advice: diagnosis.advice.map(maskText),
  }
}

/** An explanation of a process's state, as clients read it. */
export type WireWhy = ReturnType<typeof whyToWire>

function portToWire({ port, source, holder }: ExpectedPort) {
  if (holder === undefined) return { port, source, holder: null }
  const { pid, command, user, process } = holder
  return {
    port,
    source,
    holder: {
      pid: pid ?? null,
      command: command === undefined ? null : maskText(command),
      user,
      process: process ?? null,
    },
  }
}

function checkToText(probe: HealthCheck['probe']): string {
  if (probe.kind === 'exec') return `exec ${maskText(commandToText(probe.command))}`
  if (probe.kind === 'http') return `http ${maskQuery(probe.url)}`
  if (probe.kind === 'tcp') return `tcp ${probe.host}:${probe.port}`
  return `log "${maskText(probe.text)}"`
}
