import type { HealthCheck, ProcessSpec } from '../process-spec.ts'
import type { RunningProgram } from './process-runner.ts'

/** Settings of one run of a process. */
export interface RunSpec extends ProcessSpec {
  /** Settings of the process when it was started. */
  readonly configured: ProcessSpec
  /** Name of its process tree: that of the process, unless another of its runs has that. */
  readonly tree: string
}

/** One run of a process. */
export interface Run {
  readonly program: RunningProgram
  readonly spec: RunSpec
  readonly sinceMs: number
}

/** Returns the settings of a run. With a port, it replaces the placeholder 0 in them. */
export function runSpecOf(spec: ProcessSpec, tree: string, port?: number): RunSpec {
  const run = { ...spec, configured: spec, tree }
  if (port === undefined) return run
  const { healthCheck, proxy, env } = spec
  return {
    ...run,
    env: { ...env, PORT: String(port) },
    proxy: proxy && { ...proxy, port },
    healthCheck: healthCheck && { ...healthCheck, probe: probeAt(healthCheck.probe, port) },
  }
}

function probeAt(probe: HealthCheck['probe'], port: number): HealthCheck['probe'] {
  if (probe.kind === 'tcp') return { ...probe, port }
  if (probe.kind !== 'http') return probe
  const url = new URL(probe.url)
  url.port = String(port)
  return { ...probe, url: url.href }
}

/** Returns an unused name for a process tree. Process names do not contain `@`. */
export function freeTree(name: string, used: readonly Run[]): string {
  const isFree = (tree: string): boolean => used.every(({ spec }) => spec.tree !== tree)
  let tree = name
  for (let at = 2; !isFree(tree); at++) tree = `${name}@${at}`
  return tree
}

/** Returns the name of the process that a tree belongs to. */
export function processOfTree(tree: string): string {
  return tree.replace(/@\d+$/, '')
}
