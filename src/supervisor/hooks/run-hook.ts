import { createHmac, randomUUID } from 'node:crypto'
import type { Clock } from '../../lib/clock/clock.ts'
import { postJson } from '../../lib/http/post-json.ts'
import { runCommand } from '../health/run-command.ts'
import type { Hook } from './hook.ts'
import type { ProcessEvent } from './process-event.ts'

/** Result of one attempt to run a hook. */
export interface HookResult {
  readonly isDone: boolean
  /** Output of the command, or the status of the webhook. */
  readonly output: string
  /** Whether another attempt may succeed. */
  readonly isPassing?: boolean
}

/** Runs a hook once. Rejects when the signal aborts, or a webhook cannot be reached. */
export async function runHook(
  { action }: Hook,
  event: ProcessEvent,
  {
    id = randomUUID(),
    environment,
    clock,
    signal,
  }: {
    /** Identifies the event over several attempts. */
    readonly id?: string
    readonly environment: NodeJS.ProcessEnv
    readonly clock: Clock
    readonly signal: AbortSignal
  },
): Promise<HookResult> {
  if (action.kind === 'webhook') {
    const body = JSON.stringify(toWire(event))
    const timeS = Math.floor(clock.wallMs() / 1_000)
    return post(action.url, { ...signed(id, timeS, body, action.secret) }, body, signal)
  }
  return runCommand(
    action.command,
    { cwd: action.cwd, environment: { ...environment, ...variablesOf(event) }, user: undefined },
    signal,
  )
}

/** Returns the variables of a hook's command. */
function variablesOf({ event, process, status, reason, pid, restarts, exit }: ProcessEvent) {
  return {
    SUPERVISOR_EVENT: event,
    SUPERVISOR_EVENT_PROCESS: process,
    SUPERVISOR_EVENT_STATUS: status,
    SUPERVISOR_EVENT_REASON: reason,
    SUPERVISOR_EVENT_PID: String(pid),
    SUPERVISOR_EVENT_RESTARTS: String(restarts),
    SUPERVISOR_EVENT_EXIT: exit === undefined ? '' : (exit.exit.signal ?? String(exit.exit.code ?? '')),
  }
}

function toWire({ event, process, timeMs, status, reason, pid, restarts, exit }: ProcessEvent) {
  return {
    event,
    process,
    timestamp: new Date(timeMs).toISOString(),
    status,
    reason,
    pid,
    restarts,
    last_exit:
      exit === undefined
        ? null
        : {
            timestamp: new Date(exit.atMs).toISOString(),
            status: exit.exit.code ?? null,
            signal: exit.exit.signal ?? null,
            requested: exit.isRequested,
            uptime_seconds: Math.floor(exit.uptimeMs / 1_000),
          },
  }
}

/** Returns the headers of a webhook, with a signature if there is a secret. Source: Standard Webhooks 1.0.0, standardwebhooks.com. */
function signed(id: string, timeS: number, body: string, secret: string | undefined) {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timeS) }
  if (secret === undefined) return headers
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : secret
  const signature = createHmac('sha256', key).update(`${id}.${timeS}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${signature}` }
}

async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<HookResult> {
  const response = await postJson(url, headers, body, signal)
  const { statusCode = 0 } = response
  response.destroy()
  const isPassing = statusCode >= 500 || statusCode === 429 || statusCode === 408
  return { isDone: statusCode >= 200 && statusCode < 300, output: `status ${statusCode}`, isPassing }
}
