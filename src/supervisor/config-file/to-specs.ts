import { join, resolve } from 'node:path'
import { configFault } from '../../lib/config/check.ts'
import { nearest } from '../../lib/config/nearest.ts'
import type { Settings, ProcessSettings } from '../config-schema.ts'
import { findCycle } from '../process/dependency-order.ts'
import type { HealthCheck, ProcessSpec } from '../process-spec.ts'
import { scheduleComplaint } from '../process/schedule.ts'
import { interpolate } from '../process/interpolate.ts'
import { portMistakes } from './port-mistakes.ts'

interface Place {
  readonly file: string
  /** Directory that paths are relative to. */
  readonly base: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** Maximum number of processes, which are all in memory even while a configuration is validated. */
const MOST_PROCESSES = 10_000

const MOST_PATTERNS = 100
const MAX_PATTERN_LENGTH = 1_000

/** Valid names of processes and groups, which are part of paths, file names and host names. */
const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}$/
const NAME_RULE =
  'must be 1 to 63 letters, digits, dots, dashes and underscores, and not start with a dot or dash'

/** Returns the processes of a configuration with replicas expanded. @throws CONFIG_INVALID with a line for each mistake */
export function toSpecs(settings: Settings, place: Place): readonly ProcessSpec[] {
  const processes = Object.entries(settings.processes)
  const mistakes = processes.flatMap(([name, one]) => mistakesOf(name, one, settings, place))
  const cycle = findCycle(new Map(processes.map(([name, one]) => [name, Object.keys(one.dependsOn)])))
  if (cycle !== undefined) mistakes.push(`"depends_on" has a cycle: ${cycle.join(' → ')}`)
  const count = processes.reduce((sum, [, { replicas }]) => sum + replicas, 0)
  if (count > MOST_PROCESSES)
    throw configFault(
      'CONFIG_INVALID',
      `${place.file}: ${count} processes with all replicas exceed the limit of ${MOST_PROCESSES}; lower "replicas"`,
    )
  const specs = processes.flatMap(([name, one]) => replicasOf(name, one, settings, place))
  const seen = new Set<string>()
  for (const { name } of specs) {
    if (seen.has(name)) mistakes.push(`two processes are named "${name}", one of them as a replica`)
    seen.add(name)
  }
  const owners = new Map<string, string>()
  for (const { base, proxy } of specs) {
    if (proxy === undefined) continue
    const owner = owners.get(proxy.subdomain) ?? base
    if (owner !== base)
      mistakes.push(`"${owner}" and "${base}" have the same subdomain, "${proxy.subdomain}"`)
    owners.set(proxy.subdomain, owner)
  }
  mistakes.push(...portMistakes(specs, settings))
  if (mistakes.length > 0)
    throw configFault(
      'CONFIG_INVALID',
      [...new Set(mistakes)].map((mistake) => `${place.file}: ${mistake}`).join('\n'),
    )
  return specs
}

function mistakesOf(
  name: string,
  one: ProcessSettings,
  { processes: all, proxy: { enabled } }: Settings,
  { environment }: Place,
): string[] {
  const key = `processes.${name}`
  const mistakes: string[] = []
  if (!NAME.test(name)) mistakes.push(`process name "${name}" ${NAME_RULE}`)
  for (const group of one.groups)
    if (!NAME.test(group)) mistakes.push(`"${key}.groups" has "${group}"; a group's name ${NAME_RULE}`)
  for (const [other, condition] of Object.entries(one.dependsOn)) {
    const needed = Object.hasOwn(all, other) ? all[other] : undefined
    if (needed === undefined) {
      const meant = nearest(other, Object.keys(all))
      mistakes.push(
        `"${key}.depends_on" names "${other}", which is not a process${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
      )
    } else if (condition === 'healthy' && needed.healthcheck === undefined)
      mistakes.push(`"${key}.depends_on.${other}" cannot be healthy: "${other}" has no healthcheck`)
  }
  const { healthcheck } = one
  if (healthcheck !== undefined) {
    const { exec, http, tcp, log } = healthcheck
    const kinds = [exec, http, tcp, log].filter((kind) => kind !== undefined)
    if (kinds.length !== 1) mistakes.push(`"${key}.healthcheck" must have one of exec, http, tcp and log`)
    if (http !== undefined && !/^https?:\/\/./.test(http))
      mistakes.push(`"${key}.healthcheck.http" must be an http or https URL`)
    if (tcp !== undefined && !/^(?:.+:)?(?:\d{1,5}|\$.+)$/.test(String(tcp)))
      mistakes.push(`"${key}.healthcheck.tcp" must be host:port or a port`)
  }
  const complaint = one.schedule === undefined ? undefined : scheduleComplaint(one.schedule)
  if (complaint !== undefined) mistakes.push(`"${key}.schedule" is not a valid schedule: ${complaint}`)
  const patterns = one.watch === undefined ? [] : [...listOf(one.watch.paths), ...one.watch.ignore]
  if (patterns.length > MOST_PATTERNS || patterns.some((pattern) => pattern.length > MAX_PATTERN_LENGTH))
    mistakes.push(
      `"${key}.watch" must have at most ${MOST_PATTERNS} patterns of at most ${MAX_PATTERN_LENGTH} characters`,
    )
  if (one.restartOrder === 'start-first')
    for (const mistake of startFirstMistakes(one, enabled, atPlaceholder(environment)))
      mistakes.push(`"${key}.restart_order" cannot be start-first: ${mistake}`)
  else if (one.proxy !== undefined && one.proxy.port === 0)
    mistakes.push(`"${key}.proxy.port" must be the port that the process listens on`)
  return mistakes
}

/** Returns why a process cannot have two runs at once. */
function startFirstMistakes(
  one: ProcessSettings,
  isProxyEnabled: boolean,
  environment: Place['environment'],
): readonly string[] {
  const { proxy, env, healthcheck, tty, schedule } = one
  const rules: readonly (readonly [boolean, string])[] = [
    [proxy === undefined, 'it needs a "proxy" section'],
    [!isProxyEnabled, 'set proxy.enabled to true'],
    [(proxy?.port ?? 0) !== 0, 'remove proxy.port, because each run listens on its own $PORT'],
    [env['PORT'] !== undefined, 'remove env.PORT, because each run gets its own'],
    [healthcheck === undefined, 'it needs a "healthcheck"'],
    [healthcheck?.log !== undefined, 'healthcheck.log cannot distinguish two runs'],
    [!isOfRun(healthcheck, environment), 'its healthcheck must use $PORT to check the right run'],
    [tty, 'two runs cannot share a terminal (tty)'],
    [schedule !== undefined, 'it has a schedule'],
  ]
  return rules.flatMap(([isMistake, text]) => (isMistake ? [text] : []))
}

/** Adds the placeholder of a run's port, which `runSpecOf` replaces. */
function atPlaceholder(environment: Place['environment']): Place['environment'] {
  return { ...environment, PORT: '0' }
}

/** Whether a check uses the run's port. */
function isOfRun(check: ProcessSettings['healthcheck'], environment: Place['environment']): boolean {
  if (check?.http !== undefined) {
    const url = interpolate(check.http, environment)
    return URL.canParse(url) && new URL(url).port === '0'
  }
  return check?.tcp === undefined || /(?:^|:)0$/.test(interpolate(String(check.tcp), environment))
}

function replicasOf(
  base: string,
  one: ProcessSettings,
  settings: Settings,
  place: Place,
): readonly ProcessSpec[] {
  return Array.from({ length: one.replicas }, (_, at) => {
    const name = one.replicas === 1 ? base : `${base}-${at + 1}`
    return toSpec(name, base, at, one, settings, place)
  })
}

function toSpec(
  name: string,
  base: string,
  at: number,
  one: ProcessSettings,
  { log }: Settings,
  place: Place,
): ProcessSpec {
  const { memoryBytes, cpus, ...resources } = one.limits ?? {}
  const isStartFirst = one.restartOrder === 'start-first'
  // Each run gets another port in place of 0.
  const port = one.proxy && (isStartFirst ? 0 : one.proxy.port + at)
  const own = one.log
  const dir = own?.dir ?? log.dir
  const logFile = own?.file ?? (dir === undefined ? undefined : join(dir, `${name}.log`))
  const resolved = (text: string): string => interpolate(text, place.environment)
  const resolvedAt = (text: string): string => interpolate(text, atPlaceholder(place.environment))
  return {
    name,
    base,
    groups: [...new Set(one.groups)],
    command: one.cmd,
    cwd: resolve(place.base, resolved(one.cwd ?? '.')),
    env: {
      ...(port !== undefined && { PORT: String(port) }),
      ...(one.replicas > 1 && { SUPERVISOR_REPLICA: String(at + 1) }),
      ...Object.fromEntries(Object.entries(one.env).map(([variable, value]) => [variable, String(value)])),
    },
    envFiles: listOf(one.envFile).map((file) => resolve(place.base, resolved(file))),
    autostart: one.autostart && one.schedule === undefined,
    restart: one.restart,
    successCodes: one.successCodes,
    restartDelayMs: one.restartDelayMs,
    maxRestarts: one.maxRestarts,
    abortOn: one.abortOn,
    dependsOn: one.dependsOn,
    healthCheck:
      one.healthcheck === undefined
        ? undefined
        : healthOf(one.healthcheck, isStartFirst ? resolvedAt : resolved),
    stopSignal: one.stopSignal,
    stopCommand: one.stopCommand,
    stopTimeoutMs: one.stopTimeoutMs,
    startFirst: isStartFirst
      ? { startTimeoutMs: one.startTimeoutMs, drainTimeoutMs: one.drainTimeoutMs }
      : undefined,
    user: one.user,
    hasTerminal: one.tty,
    limits: Object.fromEntries(Object.entries(resources).filter(([, limit]) => limit !== undefined)),
    memoryBytes,
    cpus,
    log: {
      bufferLines: own?.bufferLines ?? log.bufferLines,
      bufferBytes: own?.bufferBytes ?? log.bufferBytes,
      file: logFile === undefined ? undefined : resolve(place.base, resolved(logFile)),
      maxFileBytes: log.maxFileBytes,
      keepFiles: log.keepFiles,
      hasTimes: log.times,
    },
    proxy: one.proxy && {
      subdomain: (one.proxy.subdomain ?? base).toLowerCase(),
      port: port ?? 0,
      holdMs: one.proxy.holdMs,
    },
    schedule: one.schedule,
    watch: one.watch && {
      paths: listOf(one.watch.paths).map(resolved),
      ignore: one.watch.ignore.map(resolved),
      debounceMs: one.watch.debounceMs,
    },
  }
}

function healthOf(
  check: NonNullable<ProcessSettings['healthcheck']>,
  resolved: (text: string) => string,
): HealthCheck {
  return {
    probe: probeOf(check, resolved),
    intervalMs: check.intervalMs,
    timeoutMs: check.timeoutMs,
    retries: check.retries,
    initialDelayMs: check.initialDelayMs,
    startIntervalMs: Math.min(check.startIntervalMs, check.intervalMs),
    startPeriodMs: check.startPeriodMs,
    onUnhealthy: check.restart ? 'restart' : check.end ? 'end' : 'none',
  }
}

function probeOf(
  check: NonNullable<ProcessSettings['healthcheck']>,
  resolved: (text: string) => string,
): HealthCheck['probe'] {
  if (check.exec !== undefined) return { kind: 'exec', command: check.exec }
  if (check.log !== undefined) return { kind: 'log', text: check.log }
  if (check.http !== undefined) {
    const headers = Object.fromEntries(
      Object.entries(check.headers).map(([name, value]) => [name, resolved(value)]),
    )
    return { kind: 'http', url: resolved(check.http), headers, status: check.status }
  }
  const address = resolved(String(check.tcp ?? ''))
  const colon = address.lastIndexOf(':')
  const host = colon < 0 ? 'localhost' : address.slice(0, colon).replaceAll(/[[\]]/g, '')
  return { kind: 'tcp', host, port: Number(address.slice(colon + 1)) }
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value
}
