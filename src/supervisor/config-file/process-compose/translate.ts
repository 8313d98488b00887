import { shellQuote } from '../../../lib/process/shell-quote.ts'
import { constants } from 'node:os'
import { configFault } from '../../../lib/config/check.ts'
import { renderTemplate } from './expand.ts'
import { type ComposeProcess, type Probe, processKeys, type Project, projectKeys } from './schema.ts'

type Group = Readonly<Record<string, unknown>>

const CONDITIONS = {
  process_started: 'started',
  process_healthy: 'healthy',
  process_log_ready: 'healthy',
  process_completed: 'ended',
  process_completed_successfully: 'completed',
} as const

const RESTARTS = {
  no: 'never',
  exit_on_failure: 'never',
  always: 'always',
  on_failure: 'on-failure',
} as const

/** Namespace of processes without one. Source: process-compose. */
const DEFAULT_NAMESPACE = 'default'

/** Settings of a probe that are missing or 0, in seconds. Source: process-compose, `src/health/probe.go`. */
const PROBE_DEFAULTS = { period: 10, timeout: 1, failures: 3 } as const

/** Unsupported keys that change what a process does, with the remedy. */
const REFUSED: Readonly<Record<string, string>> = {
  is_daemon: 'run its command in the foreground',
  is_elevated: 'start the supervisor as that user, or use "user" in a supervisor.yaml',
  env_cmds: 'put the values into .env',
}

const shell = (environment: Readonly<Record<string, string | undefined>>, project: Project) => [
  project.shell?.shell_command ?? environment['COMPOSE_SHELL'] ?? 'bash',
  project.shell?.shell_argument ?? '-c',
]

/** The context of a translation. */
export interface ComposePlace {
  readonly file: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Variables of `.env`, which take precedence in process-compose. */
  readonly dotEnv: Readonly<Record<string, string>>
  readonly warn: (message: string) => void
}

/**
 * Translates a process-compose file (version 0.5) into supervisor settings. Cosmetic keys without a counterpart are
 * reported; keys that change what a process does are refused.
 *
 * @throws CONFIG_INVALID
 */
export function fromProcessCompose(project: Project, place: ComposePlace): Group {
  reportUnknown(project, projectKeys, '', place)
  const { rotation } = project.log_configuration ?? {}
  const hasNamespaces = Object.values(project.processes ?? {}).some(({ namespace = '' }) => namespace !== '')
  const processes = Object.entries(project.processes ?? {}).flatMap(([name, one]) => {
    reportUnknown(one, processKeys, `processes.${name}.`, place)
    reportIgnored(name, one, place)
    const groups = hasNamespaces ? [one.namespace || DEFAULT_NAMESPACE] : []
    return replicasOf(name, one, project, place).map(([each, settings]) => [each, { ...settings, groups }])
  })
  return {
    exit_when_done: true,
    log: {
      ...(project.log_length !== undefined && { buffer_lines: project.log_length }),
      ...(rotation?.max_size_mb !== undefined && { max_file_bytes: `${rotation.max_size_mb}MiB` }),
      ...(rotation?.max_backups !== undefined && { keep_files: rotation.max_backups }),
    },
    processes: Object.fromEntries(processes),
  }
}

/** Reports unknown keys, also those of groups in the value. @throws CONFIG_INVALID for a key in REFUSED */
function reportUnknown(value: Group, known: Group, prefix: string, place: ComposePlace): void {
  const { file, warn } = place
  for (const [key, inner] of Object.entries(value)) {
    const remedy = REFUSED[key]
    if (remedy !== undefined && inner !== false)
      throw configFault('CONFIG_INVALID', `${file}: "${prefix}${key}" is not supported; ${remedy}`)
    if (remedy !== undefined || key.startsWith('x-')) continue
    if (!Object.hasOwn(known, key)) warn(`${file}: "${prefix}${key}" is not supported and ignored`)
    const { properties } = (known[key] ?? {}) as { readonly properties?: Group }
    if (properties !== undefined) reportUnknown(inner as Group, properties, `${prefix}${key}.`, place)
  }
}

/** Reports supported keys that have no effect beside others. */
function reportIgnored(name: string, one: ComposeProcess, { file, warn }: ComposePlace): void {
  const { shutdown, readiness_probe: readiness, ready_log_line: line, liveness_probe: liveness } = one
  const report = (key: string, why: string): void => warn(`${file}: "processes.${name}.${key}" ${why}`)
  if (shutdown?.parent_only === true)
    report('shutdown.parent_only', 'is not supported: everything the process started is stopped')
  for (const [key, probe] of Object.entries({ readiness_probe: readiness, liveness_probe: liveness })) {
    if (probe === undefined) continue
    if (!isUsable(probe)) report(key, 'is ignored, because it has neither exec nor http_get')
    if (probe.exec !== undefined && probe.http_get !== undefined)
      report(`${key}.http_get`, 'is ignored, because exec is used')
  }
  const used = isUsable(readiness) ? 'readiness_probe' : line === undefined ? undefined : 'ready_log_line'
  if (used !== undefined && isUsable(liveness))
    report('liveness_probe', `is ignored, because ${used} is used; its failures would not stop the process`)
}

function isUsable(probe: Probe | undefined): probe is Probe {
  return probe?.exec !== undefined || probe?.http_get !== undefined
}

function replicasOf(
  name: string,
  one: ComposeProcess,
  project: Project,
  place: ComposePlace,
): readonly (readonly [string, Group])[] {
  return namesOf(name, one).map((each, number) => [each, processOf(name, one, number, project, place)])
}

/** Returns the names of a process's replicas, `d-0`, `d-1` …; its own name for a single one. */
function namesOf(name: string, { replicas = 1 }: ComposeProcess): readonly string[] {
  if (replicas <= 1) return [name]
  const width = String(replicas).length
  return Array.from({ length: replicas }, (_, number) => `${name}-${String(number).padStart(width, '0')}`)
}

function processOf(
  name: string,
  one: ComposeProcess,
  replica: number,
  project: Project,
  { file, environment, dotEnv }: ComposePlace,
): Group {
  const { availability = {}, shutdown = {} } = one
  const { restart = 'no' } = availability
  const key = `processes.${name}`
  const variables = { ...project.vars, ...one.vars, PC_REPLICA_NUM: replica }
  const render = (text: string, of: string): string => renderTemplate(text, variables, `${key}.${of}`)
  const run = (command: string): readonly string[] => [...shell(environment, project), command]
  if (one.readiness_probe !== undefined && one.ready_log_line !== undefined)
    throw configFault(
      'CONFIG_INVALID',
      `${file}: "${key}" must not have both readiness_probe and ready_log_line`,
    )
  const signal = Object.entries(constants.signals).find(([, number]) => number === shutdown.signal)?.[0]
  const { command } = one
  const log = logOf(one, replica, render)
  const check = checkOf(one, render, run)
  return {
    cmd: (command === undefined ? (one.entrypoint ?? []) : run(render(command, 'command'))).map(literal),
    ...(one.working_dir !== undefined && { cwd: literal(render(one.working_dir, 'working_dir')) }),
    env: environmentOf({
      PC_PROC_NAME: name,
      PC_REPLICA_NUM: replica,
      ...variablesOf(project.environment),
      ...variablesOf(one.environment),
      ...(one.is_dotenv_disabled !== true && dotEnv),
    }),
    ...(one.env_file !== undefined && { env_file: one.env_file }),
    autostart: !isDisabled(one) && one.schedule === undefined,
    restart: RESTARTS[restart],
    restart_delay: `${Math.max(1, availability.backoff_seconds ?? 1)}s`,
    ...((availability.max_restarts ?? 0) > 0 && { max_restarts: availability.max_restarts }),
    ...(availability.success_exit_codes && { success_codes: [0, ...availability.success_exit_codes] }),
    abort_on: [
      ...(availability.exit_on_end === true || restart === 'exit_on_failure' ? ['failure'] : []),
      ...(availability.exit_on_end === true ? ['success'] : []),
      ...(availability.exit_on_skipped === true ? ['skipped'] : []),
    ],
    depends_on: dependenciesOf(name, one, project, file),
    ...(check !== undefined && { healthcheck: check }),
    ...(signal !== undefined && { stop_signal: signal }),
    ...(one.is_tty !== undefined && { tty: one.is_tty }),
    ...(shutdown.command !== undefined && { stop_command: run(shutdown.command) }),
    ...(shutdown.timeout_seconds !== undefined && { stop_timeout: `${shutdown.timeout_seconds}s` }),
    ...(one.schedule?.cron !== undefined && { schedule: one.schedule.cron }),
    ...(one.schedule?.interval !== undefined && { schedule: `@every ${one.schedule.interval}` }),
    ...(log !== undefined && { log }),
  }
}

function isDisabled({ disabled, is_disabled: text }: ComposeProcess): boolean {
  return text === 'true' || (disabled === true && text !== 'false')
}

function dependenciesOf(name: string, one: ComposeProcess, project: Project, file: string): Group {
  return Object.fromEntries(
    Object.entries(one.depends_on ?? {}).flatMap(([other, { condition = 'process_completed' }]) => {
      const needed = project.processes?.[other] ?? {}
      if (isDisabled(needed) && !isDisabled(one))
        throw configFault(
          'CONFIG_INVALID',
          `${file}: "processes.${name}.depends_on" names "${other}", which is disabled`,
        )
      return namesOf(other, needed).map((each) => [each, CONDITIONS[condition]])
    }),
  )
}

function logOf(
  { log_location: location }: ComposeProcess,
  replica: number,
  render: (text: string, key: string) => string,
): Group | undefined {
  if (location === undefined) return undefined
  return { file: literal(render(location, 'log_location').replaceAll('{PC_REPLICA_NUM}', String(replica))) }
}

/** Returns the check that decides when a process is healthy; a liveness probe only if there is no other. */
function checkOf(
  { readiness_probe: readiness, ready_log_line: line, liveness_probe: liveness }: ComposeProcess,
  render: (text: string, key: string) => string,
  run: (command: string) => readonly string[],
): Group | undefined {
  if (isUsable(readiness)) return { ...healthOf(readiness, render, run), end: true }
  if (line !== undefined) return { log: line }
  // Its failures stop only daemons. Source: process-compose, `onLivenessCheckEnd` in `src/app/process.go`.
  return isUsable(liveness) ? { ...healthOf(liveness, render, run), end: false } : undefined
}

function healthOf(
  { exec, http_get: http = {}, ...probe }: Probe,
  render: (text: string, key: string) => string,
  run: (command: string) => readonly string[],
): Group {
  const period = `${probe.period_seconds || PROBE_DEFAULTS.period}s`
  const port = http.port === undefined ? '' : `:${render(String(http.port), 'http_get.port')}`
  const path = render(http.path ?? '/', 'http_get.path')
  const url = `${http.scheme ?? 'http'}://${render(http.host ?? '127.0.0.1', 'http_get.host')}${port}${path}`
  return {
    ...(exec === undefined
      ? { http: literal(url), headers: http.headers ?? {}, status: http.status_code ?? 200 }
      : { exec: run(withWorkingDir(render(exec.command, 'exec.command'), exec.working_dir)) }),
    interval: period,
    start_interval: period,
    timeout: `${probe.timeout_seconds || PROBE_DEFAULTS.timeout}s`,
    retries: probe.failure_threshold || PROBE_DEFAULTS.failures,
    initial_delay: `${probe.initial_delay_seconds ?? 0}s`,
  }
}

function withWorkingDir(command: string, dir: string | undefined): string {
  return dir === undefined ? command : `cd ${shellQuote(dir)} || exit 1\n${command}`
}

/** Converts `["A=1"]` to `{A: 1}`. */
export function variablesOf(value: Project['environment']): Group {
  if (!Array.isArray(value)) return (value as Group | null | undefined) ?? {}
  return Object.fromEntries(
    value.map((entry) => {
      const text = String(entry)
      const at = text.indexOf('=')
      return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
    }),
  )
}

function environmentOf(variables: Group): Group {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, literal(String(value))]))
}

/** Escapes references, which process-compose has already resolved. */
function literal(text: string): string {
  return text.replaceAll('$', '$$$$')
}
