import { constants } from 'node:os'

type Group = Readonly<Record<string, unknown>>

/** Whether a YAML file is process-compose's: by its name, or by keys that only it has. */
export function isProcessCompose(name: string, content: Group): boolean {
  if (name.startsWith('process-compose')) return true
  return Object.values(group(content['processes'])).some(
    (each) => 'command' in group(each) && !('cmd' in group(each)),
  )
}

const CONDITIONS: Readonly<Record<string, string>> = {
  process_started: 'started',
  process_healthy: 'healthy',
  process_completed: 'completed',
  process_completed_successfully: 'completed',
}

const RESTARTS: Readonly<Record<string, string>> = {
  no: 'never',
  never: 'never',
  always: 'always',
  on_failure: 'on-failure',
}

/** Keys of a process that mean the same, or that only change how things look. */
const UNDERSTOOD = new Set([
  'command',
  'entrypoint',
  'working_dir',
  'environment',
  'env_file',
  'depends_on',
  'availability',
  'readiness_probe',
  'liveness_probe',
  'shutdown',
  'disabled',
  'replicas',
  'description',
  'namespace',
  'log_location',
  'disable_ansi_colors',
  'schedule',
])

/** Turns process-compose's configuration (its version 0.5) into ours; what has no counterpart is told in `warnings`. */
export function fromProcessCompose(content: Group, file: string, warnings: string[]): Group {
  const warn = (what: string): void =>
    void warnings.push(`${file}: ${what} is not supported, and is left out`)
  for (const key of Object.keys(content)) {
    if (!['version', 'processes', 'environment', 'log_level', 'log_location', 'is_strict'].includes(key))
      warn(`"${key}"`)
  }
  const shared = environmentOf(content['environment'])
  const processes = Object.fromEntries(
    Object.entries(group(content['processes'])).map(([name, value]) => {
      const one = group(value)
      for (const key of Object.keys(one)) if (!UNDERSTOOD.has(key)) warn(`"processes.${name}.${key}"`)
      return [name, processOf(name, one, shared, warn)]
    }),
  )
  return { processes }
}

function processOf(name: string, one: Group, shared: Group, warn: (what: string) => void): Group {
  const availability = group(one['availability'])
  const shutdown = group(one['shutdown'])
  const restart = textOf(availability['restart'], 'no')
  if (RESTARTS[restart] === undefined) warn(`"processes.${name}.availability.restart: ${restart}"`)
  for (const key of Object.keys(availability)) {
    if (!['restart', 'backoff_seconds'].includes(key)) warn(`"processes.${name}.availability.${key}"`)
  }
  if (shutdown['command'] !== undefined) warn(`"processes.${name}.shutdown.command"`)
  const probe = one['readiness_probe'] ?? one['liveness_probe']
  const signal = signalName(shutdown['signal'])
  const schedule = group(one['schedule'])['cron']
  return {
    cmd: one['entrypoint'] ?? one['command'],
    ...(one['working_dir'] !== undefined && { cwd: one['working_dir'] }),
    env: { ...shared, ...environmentOf(one['environment']) },
    ...(one['env_file'] !== undefined && { env_file: one['env_file'] }),
    autostart: one['disabled'] !== true && schedule === undefined,
    restart: RESTARTS[restart] ?? 'never',
    depends_on: Object.fromEntries(
      Object.entries(group(one['depends_on'])).map(([other, value]) => {
        const condition = textOf(group(value)['condition'], 'process_started')
        if (CONDITIONS[condition] === undefined)
          warn(`"processes.${name}.depends_on.${other}.condition: ${condition}"`)
        return [other, CONDITIONS[condition] ?? 'started']
      }),
    ),
    ...(probe !== undefined && { healthcheck: healthOf(group(probe), one['readiness_probe'] === undefined) }),
    ...(signal !== undefined && { stop_signal: signal }),
    ...(shutdown['timeout_seconds'] !== undefined && {
      stop_timeout: `${textOf(shutdown['timeout_seconds'], '10')}s`,
    }),
    ...(one['replicas'] !== undefined && { replicas: one['replicas'] }),
    ...(schedule !== undefined && { schedule }),
  }
}

function healthOf(probe: Group, isLiveness: boolean): Group {
  const http = group(probe['http_get'])
  const seconds = (key: string, otherwise: number): string => `${Number(probe[key] ?? otherwise)}s`
  return {
    ...(probe['exec'] !== undefined
      ? { exec: group(probe['exec'])['command'] }
      : {
          http: `${textOf(http['scheme'], 'http')}://${textOf(http['host'], '127.0.0.1')}:${textOf(http['port'], '80')}${textOf(http['path'], '/')}`,
        }),
    interval: seconds('period_seconds', 10),
    timeout: seconds('timeout_seconds', 1),
    retries: probe['failure_threshold'] ?? 3,
    start_period: seconds('initial_delay_seconds', 0),
    restart: isLiveness,
  }
}

/** `["A=1"]` or `{A: 1}`. */
function environmentOf(value: unknown): Group {
  if (!Array.isArray(value)) return group(value)
  return Object.fromEntries(
    value.map((entry) => {
      const text = String(entry)
      const at = text.indexOf('=')
      return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
    }),
  )
}

function signalName(value: unknown): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === value)?.[0]
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : otherwise
}

function group(value: unknown): Group {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Group) : {}
}
