import { isLocalhost } from '../../lib/connection/localhost.ts'
import { findPortHolder } from '../../lib/process/port-holder.ts'
import { readProcStat } from '../../lib/process/proc-stat.ts'
import type { ProcessTable } from '../process/process-table.ts'
import { marksOf } from '../process/process-tree.ts'
import { userNameOf } from '../process/system-user.ts'
import type { ProcessSpec } from '../process-spec.ts'
import { processOfTree } from '../process/run-spec.ts'

const MOST_PORTS = 5
const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|0\.0\.0\.0|\[?::1?\]?)$/
/** Messages of programs whose port is in use: Node.js, and strerror(3). */
const IN_USE = /EADDRINUSE|address already in use/i
const PORT_IN_TEXT = /:(\d{1,5})(?!\d|\.\d)/

/** A port that a process should listen on. */
export interface ExpectedPort {
  readonly port: number
  /** Key of the configuration that names it, or `output`. */
  readonly source: string
  /** The program that listens on it; undefined if there is none, or on systems other than Linux. */
  readonly holder: Holder | undefined
}

interface Holder {
  /** Undefined if only its user can see it, like `command`. */
  readonly pid: number | undefined
  readonly command: string | undefined
  readonly user: string
  /** Name of the supervised process it belongs to. */
  readonly process: string | undefined
}

/**
 * Finds the ports that a process should listen on, and who does. They come from its settings, and from lines that report a port as
 * being in use.
 */
export function findExpectedPorts(
  spec: ProcessSpec,
  lastLines: readonly string[],
  { table, instance }: { readonly table: ProcessTable; readonly instance: string },
): readonly ExpectedPort[] {
  const sources = new Map<number, string>()
  for (const [port, source] of [...configuredPorts(spec), ...portsInUse(lastLines)])
    if (port > 0 && port <= 65_535 && !sources.has(port)) sources.set(port, source)
  return [...sources].slice(0, MOST_PORTS).map(([port, source]) => {
    const found = findPortHolder(port)
    return { port, source, holder: found && holderOf(found, table, instance) }
  })
}

function configuredPorts({ proxy, healthCheck, env }: ProcessSpec): readonly (readonly [number, string])[] {
  const ports: (readonly [number, string])[] = proxy === undefined ? [] : [[proxy.port, 'proxy.port']]
  const probe = healthCheck?.probe
  if (probe?.kind === 'tcp' && isHere(probe.host)) ports.push([probe.port, 'healthcheck.tcp'])
  if (probe?.kind === 'http' && URL.canParse(probe.url)) {
    const { hostname, port, protocol } = new URL(probe.url)
    if (isHere(hostname)) ports.push([Number(port) || (protocol === 'https:' ? 443 : 80), 'healthcheck.http'])
  }
  if (/^\d{1,5}$/.test(env['PORT'] ?? '')) ports.push([Number(env['PORT']), 'env.PORT'])
  return ports
}

function isHere(host: string): boolean {
  return isLocalhost(host) || LOOPBACK.test(host)
}

function portsInUse(lines: readonly string[]): readonly (readonly [number, string])[] {
  return lines.flatMap((line) => {
    const [, port] = (IN_USE.test(line) && PORT_IN_TEXT.exec(line)) || []
    return port === undefined ? [] : [[Number(port), 'output'] as const]
  })
}

function holderOf(
  { uid, process: owner }: NonNullable<ReturnType<typeof findPortHolder>>,
  table: ProcessTable,
  instance: string,
): Holder {
  const user = userNameOf(uid)
  if (owner === undefined) return { pid: undefined, command: undefined, user, process: undefined }
  return { ...owner, user, process: supervisedNameOf(owner.pid, table, instance) }
}

/** Returns the name of the process that a program belongs to: by its marks, or by its process group or session. */
function supervisedNameOf(pid: number, table: ProcessTable, instance: string): string | undefined {
  const marks = marksOf(pid)
  if (marks?.instance === instance) return processOfTree(marks.name)
  const stat = readProcStat(pid)
  const leaders = [stat?.group, stat?.session]
  return table.list().find(({ runs }) => runs.some(({ program }) => leaders.includes(program.pid)))?.spec.name
}
