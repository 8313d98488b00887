import { randomInt } from 'node:crypto'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import { BACKEND_NAMES, type BackendName } from '../../../backend-name.ts'
import { FAULT_KINDS, type FaultKind, FINDING_KINDS } from '../../../torture/kinds.ts'
import type { FaultSummary, TortureReport } from '../../../torture/report.ts'

const DEFAULT_MINUTES = 5
const MAX_SEED = 2 ** 32

interface TortureOptions {
  readonly config?: string
  readonly minutes: number
  readonly seed?: number
  readonly backend?: BackendName
  readonly only?: readonly FaultKind[]
  readonly json?: boolean
  readonly table?: boolean
}

/** Adds the command `torture`, which injects faults into a separate server and exits with status 1 if anything is lost. */
export function addTorture(program: Command): void {
  program
    .command('torture')
    .description('inject faults into a separate server and report what it lost')
    .option('--config <file>', 'config file of the server whose settings are used')
    .option('--minutes <number>', 'duration', minutes, DEFAULT_MINUTES)
    .option('--seed <number>', 'repeat the faults of an earlier run', wholeNumber)
    .addOption(
      new Option('--backend <name>', 'backend; default from the configuration').choices(BACKEND_NAMES),
    )
    .addOption(new Option('--only <kind...>', 'kinds of faults; default all').choices(FAULT_KINDS))
    .addHelpText(
      'after',
      examples('workspace torture', 'workspace torture --minutes 30 --only server disk --seed 42'),
    )
    .action(async (_options: unknown, command: Command) => {
      const options: TortureOptions = command.optsWithGlobals()
      const report = await run(options)
      createOutput(options).result(reportToWire(report), () => reportText(report))
      const { isClean } = await import('../../../torture/report.ts')
      if (!isClean(report)) throw new ExitStatus(1)
    })
}

async function run({ config: file, ...options }: TortureOptions): Promise<TortureReport> {
  const [{ loadWorkspaceConfig }, { torture }, { privateEnvironment, privateSettings }] = await Promise.all([
    import('../../../config.ts'),
    import('../../../torture/torture.ts'),
    import('../../../torture/private-settings.ts'),
  ])
  const { config, settings } = loadWorkspaceConfig(process.env, { file })
  const seed = options.seed ?? randomInt(MAX_SEED)
  const { progress } = createOutput(options)
  progress(`seed ${seed}; Ctrl-C ends the run and removes everything`)
  return torture({
    seed,
    durationMs: options.minutes * 60_000,
    kinds: options.only ?? FAULT_KINDS,
    entry: process.argv[1] ?? '',
    settings: privateSettings(
      settings as Readonly<Record<string, unknown>>,
      config,
      options.backend ?? config.defaultBackend,
    ),
    environment: privateEnvironment(process.env),
    engine: config.docker.host,
    signal: firstInterrupt(),
    progress,
  })
}

/** Returns a signal that the first interrupt, or the end of the terminal, aborts; a second one ends the process. */
function firstInterrupt(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => controller.abort())
  return controller.signal
}

function minutes(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) > 0) return Number(text)
  throw new InvalidArgumentError('It must be a number of minutes.')
}

function reportToWire(report: TortureReport) {
  const { seed, durationMs, rounds, faults, acknowledged, unanswered, findings, remnants, notes, logFile } =
    report
  return {
    seed,
    duration_ms: Math.round(durationMs),
    rounds,
    faults: faults.map((fault) => ({
      kind: fault.kind,
      count: fault.count,
      recovery_ms: fault.count === 0 ? null : { median: median(fault), max: longest(fault) },
      not_run: fault.whyNot ?? null,
    })),
    acknowledged: Object.fromEntries(acknowledged),
    unanswered,
    ...countsOf(report),
    findings,
    remnants,
    notes,
    log: logFile ?? null,
  }
}

function countsOf({ findings }: TortureReport): Readonly<Record<string, number>> {
  return Object.fromEntries(
    FINDING_KINDS.map((kind) => [kind, findings.filter((finding) => finding.kind === kind).length]),
  )
}

function reportText(report: TortureReport): string {
  const { seed, durationMs, rounds, faults, acknowledged, unanswered, findings, remnants, notes, logFile } =
    report
  const operations = [...acknowledged].map(([operation, count]) => `${count} ${operation}`)
  const total = [...acknowledged.values()].reduce((sum, count) => sum + count, 0)
  const rows = faults.map((fault) => [
    fault.kind,
    String(fault.count),
    fault.count === 0 ? '' : seconds(median(fault)),
    fault.count === 0 ? '' : seconds(longest(fault)),
    fault.whyNot === undefined ? '' : `not injected: ${fault.whyNot}`,
  ])
  const counts = Object.entries(countsOf(report)).map(([kind, count]) => `${kind} ${count}`)
  return [
    formatTable(['FAULT', 'COUNT', 'MEDIAN RECOVERY', 'LONGEST', ''], rows),
    '',
    `${counted(rounds, 'round')} in ${seconds(durationMs)}, seed ${seed}`,
    `${counted(total, 'acknowledged operation')} checked: ${operations.join(', ')}`,
    `${unanswered} without an answer, which may have happened or not`,
    counts.join(', '),
    ...findings.map(({ kind, what }) => `${kind.toUpperCase()}: ${what}`),
    ...notes,
    ...remnants.map(({ what, command }) => `not removed: ${what}; remove it with: ${command}`),
    ...(logFile === undefined ? [] : [`the server's log: ${logFile}`]),
  ].join('\n')
}

function median({ recoveriesMs }: FaultSummary): number {
  return Math.round(recoveriesMs.toSorted((a, b) => a - b)[recoveriesMs.length >> 1] ?? 0)
}

function longest({ recoveriesMs }: FaultSummary): number {
  return Math.round(Math.max(...recoveriesMs))
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`
}
