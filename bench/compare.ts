import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { homedir, loadavg } from 'node:os'
import { join } from 'node:path'
import { DisposalStack } from '../src/lib/lifetime/disposal-stack.ts'
import { verdictOf, type Verdict } from './verdict.ts'

const here = import.meta.dirname
const root = join(here, '..')
const CHILD = 'compare-child.ts'
/** Files that the checkout of the other commit needs; it may be older than they are. */
const COPIED = [CHILD, 'time.ts']

/** Options of a comparison. */
export interface CompareOptions {
  /** Any name of a commit; this checkout is compared with it. */
  readonly revision: string
  /** Benches that have cases, such as `disk/usage`. */
  readonly names: readonly string[]
  /** Number of times that each case is timed on each side, at least 6. */
  readonly runs: number
  /** File to which a JSON line is appended for each case. */
  readonly json?: string | undefined
  /** Percentage of a proven slowdown from which the result is false. */
  readonly failAt: number
}

/** Times cases of this checkout and of another commit by turns. Returns whether none is proven to be much slower. */
export async function compareWith({ revision, names, runs, json, failAt }: CompareOptions): Promise<boolean> {
  const base = git('rev-parse', '--verify', `${revision}^{commit}`)
  const other = checkoutOf(base)
  let isFine = true
  for (const name of names) {
    const load = measureLoad()
    const rows = await compare(name, other, runs)
    const { steal, average } = load()
    const machine = `load ${average.toFixed(2)}, ${steal.toFixed(1)} % of processor time taken by the host`
    console.log(
      `\n## ${name}, ${base.slice(0, 8)} → this checkout\n\n${runs} runs of each, by turns; ${machine}\n`,
    )
    console.log(tableOf(rows))
    isFine &&= rows.every(({ verdict }) => verdict.is !== 'slower' || verdict.high > 1 / (1 + failAt / 100))
    if (json === undefined) continue
    const shared = {
      date: new Date().toISOString(),
      base,
      commit: git('rev-parse', 'HEAD'),
      bench: name,
      runs,
      steal,
      load: average,
    }
    for (const { name: title, verdict } of rows)
      appendFileSync(json, `${JSON.stringify({ ...shared, case: title, ...verdict })}\n`)
  }
  return isFine
}

interface Row {
  readonly name: string
  readonly verdict: Verdict
}

async function compare(name: string, other: string, runs: number): Promise<readonly Row[]> {
  const opened = new DisposalStack()
  try {
    const sides = [opened.use(await Side.open(other, name)), opened.use(await Side.open(root, name))] as const
    const rows: Row[] = []
    // Cases that differ only in their peer have one name, and our work is the same.
    for (const title of new Set(sides[1].cases)) {
      const places = sides.map(({ cases }) => cases.indexOf(title))
      if (places.includes(-1)) continue
      const times: [number[], number[]] = [[], []]
      // The first of each is a warm-up. The order changes, so that neither side always runs after the other.
      for (let i = 0; i <= runs; i++) {
        for (const side of i % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
          const ms = await sides[side].time(places[side] ?? -1)
          if (i > 0) times[side].push(ms)
        }
      }
      rows.push({ name: title, verdict: verdictOf(...times) })
    }
    return rows
  } finally {
    await opened.close()
  }
}

/** A process with the cases of one commit. */
class Side {
  readonly cases: readonly string[]
  readonly #child: ChildProcess

  private constructor(child: ChildProcess, cases: readonly string[]) {
    this.#child = child
    this.cases = cases
  }

  static async open(checkout: string, name: string): Promise<Side> {
    if (!existsSync(join(checkout, 'bench', `${name}.ts`)))
      throw new Error(`${checkout} has no bench ${name}`)
    const child = fork(join(checkout, 'bench', CHILD), [name], { cwd: checkout })
    const cases = (await answerOf(child)) as readonly string[]
    const side = new Side(child, cases)
    if (cases.length > 0) return side
    await side.close()
    throw new Error(`bench ${name} has no cases to compare`)
  }

  async time(index: number): Promise<number> {
    this.#child.send(index)
    return (await answerOf(this.#child)) as number
  }

  async close(): Promise<void> {
    if (!this.#child.connected) return
    this.#child.disconnect()
    await once(this.#child, 'exit')
  }
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const over = new AbortController()
  try {
    return await Promise.race([
      once(child, 'message', { signal: over.signal }).then(([message]) => message as unknown),
      once(child, 'exit', { signal: over.signal }).then(([status]) => {
        throw new Error(`a bench exited with status ${status}`)
      }),
    ])
  } finally {
    over.abort()
  }
}

/** Returns a built checkout of a commit, which is kept for later comparisons. */
function checkoutOf(commit: string): string {
  const checkout = join(
    process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'),
    'workspace-suite/bench',
    commit,
  )
  if (!existsSync(join(checkout, 'dist'))) {
    console.error(`building ${commit.slice(0, 8)} in ${checkout}`)
    rmSync(checkout, { recursive: true, force: true })
    mkdirSync(join(checkout, '..'), { recursive: true })
    git('clone', '--quiet', '--no-checkout', root, checkout)
    for (const [command, ...args] of [
      ['git', 'checkout', '--quiet', '--detach', commit],
      ['scripts/setup'],
      ['npm', 'run', '--silent', 'build'],
    ] as const)
      execFileSync(command, args, { cwd: checkout, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  for (const file of COPIED) copyFileSync(join(here, file), join(checkout, 'bench', file))
  return checkout
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}

/** Starts to observe the machine. The returned function reports what happened since. */
function measureLoad(): () => { readonly steal: number; readonly average: number } {
  const before = processorTimes()
  return () => {
    const now = processorTimes()
    const spent = now.map((ticks, i) => ticks - (before[i] ?? 0))
    // proc(5): user, nice, system, idle, iowait, irq, softirq, steal
    const all = spent.slice(0, 8).reduce((sum, ticks) => sum + ticks, 0)
    return { steal: (100 * (spent[7] ?? 0)) / Math.max(1, all), average: loadavg()[0] ?? Number.NaN }
  }
}

function processorTimes(): readonly number[] {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  return line.split(/\s+/).slice(1).map(Number)
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ name, verdict: { is, ratio, low, high } }) =>
    [name, `${ratio.toFixed(2)}×`, `${low.toFixed(2)}–${high.toFixed(2)}×`, is].join(' | '),
  )
  return ['case | before ÷ after | 95 % interval | verdict', '--- | ---: | ---: | ---', ...lines]
    .map((line) => `| ${line} |`)
    .join('\n')
}
