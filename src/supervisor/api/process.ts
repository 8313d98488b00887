import { shellQuote } from '../../lib/process/shell-quote.ts'
import { Type } from '../../lib/schema/type.ts'
import { HEALTHS } from '../health/health.ts'
import { retryAtOf, statusOf, STATUSES } from '../process/process-state.ts'
import type { SupervisedProcess } from '../process/supervised-process.ts'
import type { Usage } from '../process/usage.ts'
import type { ProcessSpec } from '../process-spec.ts'
import { maskText, maskValue } from './mask.ts'
import { nextRunMs } from '../process/schedule.ts'

const summaryFields = {
  name: Type.String(),
  status: Type.Enum(STATUSES),
  pid: Type.Integer({ description: '0 if it is not running' }),
  uptime_seconds: Type.Integer(),
  restarts: Type.Integer(),
  health: Type.Enum(HEALTHS),
  reason: Type.String({ description: 'reason of the current status' }),
  next_run: Type.Union([Type.String(), Type.Null()], { description: 'next time of its schedule' }),
  tty: Type.Boolean({ description: 'whether it has a terminal' }),
  groups: Type.Array(Type.String()),
  base: Type.String({ description: 'name in the configuration, which replicas share' }),
  depends_on: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'conditions by name in the configuration',
  }),
}

/** Schema of a process in a list. */
export const summarySchema = Type.Object(summaryFields, { $id: 'Process' })

/** Schema of a process with its details. */
export const detailSchema = Type.Object(
  {
    ...summaryFields,
    healthcheck: Type.Object({
      enabled: Type.Boolean(),
      last_check: Type.Union([Type.String(), Type.Null()]),
      last_output: Type.String(),
      consecutive_failures: Type.Integer(),
    }),
    log_lost_bytes: Type.Integer({ description: 'bytes of lines that could not be written to its log file' }),
    cmd: Type.String(),
    env: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
    cwd: Type.String(),
    next_retry: Type.Union([Type.String(), Type.Null()]),
    history: Type.Array(
      Type.Object({ timestamp: Type.String(), status: Type.String(), reason: Type.String() }),
    ),
  },
  { $id: 'ProcessDetail' },
)

/** Schema of the processor and memory use of all processes. */
export const usageSchema = Type.Object({
  usage: Type.Array(
    Type.Object({
      name: Type.String(),
      cpu_percent: Type.Unsafe<number>({ type: 'number' }),
      memory_bytes: Type.Integer(),
    }),
  ),
})

/** Schema of the response to an action on a group. */
export const groupActionSchema = Type.Object(
  {
    success: Type.Boolean(),
    processes: Type.Array(Type.String(), { description: 'names of the processes of the group' }),
  },
  { $id: 'GroupActionResult' },
)

/** Schema of the response to a successful action. */
export const actionSchema = Type.Object({ success: Type.Boolean() }, { $id: 'ActionResult' })

/** Converts a process to its form in a list. */
export function summaryToWire(process: SupervisedProcess) {
  const { spec, state, program, uptimeMs, restarts, health, history } = process
  return {
    name: spec.name,
    status: statusOf(state),
    pid: program?.pid ?? 0,
    uptime_seconds: Math.floor(uptimeMs / 1_000),
    restarts,
    health: health.health,
    reason: history.changes.at(-1)?.reason ?? 'not started yet',
    next_run: timeToWire(spec.schedule === undefined ? undefined : nextRunMs(spec.schedule, Date.now())),
    tty: spec.hasTerminal,
    groups: spec.groups,
    base: spec.base,
    depends_on: spec.dependsOn,
  }
}

/** Converts a process to its wire form. @param showsSecrets whether values that look like secrets are shown */
export function detailToWire(process: SupervisedProcess, logLostBytes: number, showsSecrets: boolean) {
  const { runSpec: spec, state, health, history } = process
  return {
    ...summaryToWire(process),
    healthcheck: {
      enabled: spec.healthCheck !== undefined,
      last_check: timeToWire(health.lastCheckMs),
      last_output: health.lastOutput,
      consecutive_failures: health.consecutiveFailures,
    },
    log_lost_bytes: logLostBytes,
    cmd: showsSecrets ? commandToText(spec.command) : maskText(commandToText(spec.command)),
    env: Object.fromEntries(
      Object.entries(spec.env).map(([name, value]) => [name, showsSecrets ? value : maskValue(name, value)]),
    ),
    cwd: spec.cwd,
    next_retry: timeToWire(retryAtOf(state)),
    history: history.changes.map(({ atMs, status, reason }) => ({
      timestamp: timeToWire(atMs),
      status,
      reason,
    })),
  }
}

/** Converts the usage of processes to a response body. */
export function usageToWire(usage: readonly Usage[]) {
  return {
    usage: usage.map(({ name, cpuPercent, memoryBytes }) => ({
      name,
      cpu_percent: cpuPercent,
      memory_bytes: memoryBytes,
    })),
  }
}

/** A process in a list, as clients read it. */
export type WireSummary = ReturnType<typeof summaryToWire>

/** Formats a time. */
export function timeToWire(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

/** Formats a command as a shell would read it. */
export function commandToText(command: ProcessSpec['command']): string {
  return typeof command === 'string' ? command : command.map(quoted).join(' ')
}

/** Quotes a word for a shell if it must be. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : shellQuote(word)
}
