import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { readProcStat } from '../../src/lib/process/proc-stat.ts'
import type { Bench } from '../harness.ts'
import { memoryOf } from '../process-memory.ts'
import { type Contender, contenders, type Started } from '../supervisor-peers.ts'

const PROCESSES = 500
const BYTES = 1_000_000_000
const WRITERS = 50
const LINE = 'x'.repeat(99)
const LIMIT_MS = 180_000

const bench: Bench = {
  note:
    `${PROCESSES} \`sleep\` processes, from the start of the supervisor's command until all run, its own memory then, from SIGTERM (pm2: its own \`kill\`) until all have exited; ` +
    `1 GB of lines of 100 bytes from one process, and from ${WRITERS} in parallel, each also written to a file, with the supervisor's CPU seconds and memory; ` +
    'and the time of listing the processes meanwhile, 99th percentile (supervisord and pm2: by their own command). One run of each. ' +
    'process-compose starts all of them sooner because it is compiled: about a third of our time passes until Node has loaded the program; the rest is ' +
    'a fork per process, one after the other. supervisord uses less memory: it stores lines only in files.',
  prepare: () => ({ cases: [], more: compare, cleanUp: () => undefined }),
}
export default bench

async function compare(): Promise<string> {
  const rows: (readonly string[])[] = []
  for (const contender of contenders())
    rows.push([
      contender.name,
      ...(await idle(contender)),
      ...(await logs(contender, 1)),
      ...(await logs(contender, WRITERS)),
    ])
  const of = (what: string): readonly string[] => [
    `MB/s ${what}`,
    `CPU s ${what}`,
    `RSS ${what}`,
    `list p99 ${what}`,
  ]
  const head = ['', 'all run', 'RSS', 'all exited', 'killed to running', ...of('one'), ...of(String(WRITERS))]
  return [head, head.map(() => '---:'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

async function idle(contender: Contender): Promise<readonly string[]> {
  const mark = `9${Date.now() % 1e7}`
  const programs = Object.fromEntries(
    Array.from({ length: PROCESSES }, (_, i) => [`p${i}`, `exec sleep ${mark}`]),
  )
  const beganMs = performance.now()
  const started = contender.start(programs)
  await until(() => pidsOf(mark).length >= PROCESSES)
  const runMs = performance.now() - beganMs
  await delay(2_000)
  const { rss } = memoryOf([started.pid()])
  const before = new Set(pidsOf(mark))
  const [victim = 0] = before
  const killedMs = performance.now()
  process.kill(victim, 'SIGKILL')
  await until(() => pidsOf(mark).some((pid) => !before.has(pid)))
  const backMs = performance.now() - killedMs
  const stopMs = performance.now()
  started.stop()
  await until(() => pidsOf(mark).length === 0)
  const endMs = performance.now() - stopMs
  await delay(1_500)
  return [
    `${(runMs / 1_000).toFixed(2)} s`,
    megabytes(rss),
    `${(endMs / 1_000).toFixed(2)} s`,
    `${backMs.toFixed(0)} ms`,
  ]
}

async function logs(contender: Contender, writers: number): Promise<readonly string[]> {
  const mark = `8${Date.now() % 1e7}`
  const each = Math.floor(BYTES / writers)
  const programs = Object.fromEntries(
    Array.from({ length: writers }, (_, i) => [
      `w${i}`,
      `sleep 3; yes ${LINE} | head -c ${each}; exec sleep ${mark}`,
    ]),
  )
  const started = contender.start(programs)
  await delay(2_500)
  const cpuBefore = cpuOf(started.pid())
  await until(() => writing())
  const beganMs = performance.now()
  const asking = askAll(started, () => pidsOf(mark).length >= writers)
  await until(() => pidsOf(mark).length >= writers)
  const seconds = (performance.now() - beganMs) / 1_000
  const p99 = await asking
  const { rss } = memoryOf([started.pid()])
  const cpu = cpuOf(started.pid()) - cpuBefore
  started.stop()
  await until(() => pidsOf(mark).length === 0)
  await delay(1_500)
  return [(BYTES / 1e6 / seconds).toFixed(0), cpu.toFixed(2), megabytes(rss), `${p99.toFixed(1)} ms`]
}

async function askAll(started: Started, isOver: () => boolean): Promise<number> {
  const times: number[] = []
  while (!isOver()) {
    const beganMs = performance.now()
    await started.list()
    times.push(performance.now() - beganMs)
    await delay(10)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
}

function writing(): boolean {
  return pidsOf(LINE).length > 0
}

/** Returns processes that have a word in their arguments and have completed exec. */
function pidsOf(word: string): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const [program, argument] = readFileSync(`/proc/${name}/cmdline`, 'latin1').split('\0')
      return (program === 'sleep' || program === 'yes') && argument === word ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

function cpuOf(pid: number): number {
  return (
    (readProcStat(pid)?.cpuTicks ?? 0) / Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))
  )
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`
}

async function until(isTrue: () => boolean): Promise<void> {
  const endMs = performance.now() + LIMIT_MS
  while (!isTrue()) {
    if (performance.now() > endMs) throw new Error(`timed out after ${LIMIT_MS / 1_000} s`)
    await delay(5)
  }
}
