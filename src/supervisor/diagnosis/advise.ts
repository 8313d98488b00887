import type { Facts } from './facts.ts'

const SHOWN_BLOCKERS = 3

type Rule = (facts: Facts) => readonly string[]

/** Returns what a user can do about a process's state, most important first. */
export function advise(facts: Facts): readonly string[] {
  return RULES.flatMap((rule) => rule(facts))
}

const RULES: readonly Rule[] = [
  dependencies,
  portConflict,
  failedStart,
  outOfMemory,
  shellStatus,
  foreignKill,
  failingCheck,
  restart,
]

function dependencies({ process: { state }, dependencies: needed }: Facts): readonly string[] {
  if (state.is !== 'waiting') return []
  const blockers = needed.filter(({ isMet }) => !isMet).slice(0, SHOWN_BLOCKERS)
  return blockers.map(({ process: { spec, state: blocking, isDown } }) => {
    const { name } = spec
    if (spec.schedule !== undefined)
      return `"${name}" starts by its schedule; "supervisor start ${name}" starts it now`
    if (isDown && 'retryAtMs' in blocking && blocking.retryAtMs !== undefined)
      return `"${name}" will be started again; "supervisor why ${name}" explains it`
    if (blocking.is === 'crashed')
      return `fix "${name}", which stays down until it is started by hand; "supervisor why ${name}" explains it`
    if (blocking.is === 'stopped') return `start "${name}" with "supervisor start ${name}"`
    return `wait for "${name}"; "supervisor why ${name}" explains it`
  })
}

function portConflict({ process, ports }: Facts): readonly string[] {
  const { name } = process.spec
  if (process.state.is === 'running' && process.health.health !== 'unhealthy') return []
  return ports.flatMap(({ port, holder }) => {
    if (holder === undefined || holder.process === name) return []
    if (holder.process !== undefined)
      return [
        `port ${port} is used by "${holder.process}": stop it with "supervisor stop ${holder.process}", or give one of them another port`,
      ]
    const owner =
      holder.pid === undefined
        ? `a program of user ${holder.user}`
        : `process ${holder.pid} of user ${holder.user} (${holder.command})`
    return [`port ${port} is used by ${owner}: stop it, or give "${name}" another port`]
  })
}

function failedStart({ process: { state, spec } }: Facts): readonly string[] {
  if (!('exit' in state) || state.exit?.failure === undefined) return []
  return [`fix "${spec.name}" in the configuration, then run "supervisor reload"`]
}

function outOfMemory({ process: { spec, isDown, history } }: Facts): readonly string[] {
  if (!isDown || history.lastExit?.exit.isOutOfMemory !== true) return []
  if (spec.memoryBytes === undefined) return ['free memory on this machine, or set limits.memory']
  return [
    `raise limits.memory (${Math.round(spec.memoryBytes / 2 ** 20)} MiB), or reduce the memory that "${spec.name}" uses`,
  ]
}

function shellStatus({ process: { spec, isDown, history } }: Facts): readonly string[] {
  const code = history.lastExit?.exit.code
  if (!isDown || typeof spec.command !== 'string' || (code !== 126 && code !== 127)) return []
  return [`check the program's name in cmd, and PATH; cmd runs in ${spec.cwd}`]
}

function foreignKill({ process: { isDown, history } }: Facts): readonly string[] {
  const { lastExit } = history
  if (!isDown || lastExit === undefined || lastExit.isRequested || lastExit.exit.signal !== 'SIGKILL')
    return []
  if (lastExit.exit.isOutOfMemory === true) return []
  return ['the supervisor did not send SIGKILL: find the sender, for example with "dmesg" if memory ran out']
}

function failingCheck({ process, ports }: Facts): readonly string[] {
  const { state, health, spec } = process
  const isFailing = health.hasFailed && (state.is === 'starting' || health.health === 'unhealthy')
  const probe = spec.healthCheck?.probe
  if (probe?.kind === 'log' && state.is === 'starting')
    return [`"${spec.name}" counts as healthy when it prints a line with "${probe.text}"`]
  if (!isFailing || (probe?.kind !== 'http' && probe?.kind !== 'tcp')) return []
  return ports
    .filter(({ source, holder }) => source === `healthcheck.${probe.kind}` && holder === undefined)
    .map(({ port }) => `nothing listens on port ${port}: check which port "${spec.name}" uses`)
}

function restart({ process, nextAttemptMs, nextRunMs: runMs }: Facts): readonly string[] {
  const { state, spec, isDown } = process
  if (!isDown) return []
  const start = `"supervisor start ${spec.name}"`
  if (nextAttemptMs !== undefined) return [`${start} tries at once`]
  if (state.is === 'crashed') return [`when the cause is fixed, run ${start}`]
  return [runMs === undefined ? `start it with ${start}` : `${start} starts it before its schedule`]
}
