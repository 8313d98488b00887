import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { bytesBelow, projectOfClasses, nineJars } from '../analyzer-corpora.ts'
import { questionsAbout } from '../analyzer-questions.ts'
import { type AnalyzerProcess, BenchUser, buildPackage } from '../analyzer-server.ts'
import type { Bench } from '../harness.ts'
import { memoryOf, processTree } from '../process-memory.ts'

const QUESTIONS = 400
const WARM_UP = 100
const SEED = 20_250_101
/** Requests about the whole project, without arguments to vary. */
const WHOLE = ['/stats', '/graph/foundation', '/graph/cycles', '/graph/cycles?of=package', '/graph']
const WHOLE_RUNS = 5

const BARE_START_MS = 2_000
/** Time after which a server has released unneeded memory. */
const REST_MS = 80_000

const bench: Bench = {
  note:
    `Times of single requests over one kept connection, from the request to the end of the answer, in a project whose own classes are those of ` +
    `nine public jars. ${QUESTIONS} requests of each kind, after ${WARM_UP} to warm up. Arguments vary: half are any class, half are classes that others refer to.`,

  async prepare() {
    buildPackage()
    const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const user = new BenchUser()
    const server = await user.serve(projectOfClasses(join(folder, 'project'), nineJars()))
    return {
      cases: [],
      async more() {
        await delay(REST_MS)
        const memory = [await bareNodeRow(), memoryRow('80 s after the scan', server.pid)]
        const lines = await latencies(server)
        await delay(REST_MS)
        memory.push(memoryRow('80 s after the paged requests', server.pid))
        const whole = await wholeLatencies(server)
        await delay(REST_MS)
        memory.push(memoryRow('80 s after the whole-project requests', server.pid))
        const stats = JSON.parse(await server.get('/stats')) as { projectClassCount: number }
        const bytes = bytesBelow(user.cacheDir)
        return [
          [
            '| request | p50 | p99 | max | largest response |',
            '| --- | ---: | ---: | ---: | ---: |',
            ...lines,
          ],
          ['| whole project | median | largest response |', '| --- | ---: | ---: |', ...whole],
          [
            '| idle server: resident memory, of which heaps and buffers | main process | with children |',
            '| --- | ---: | ---: |',
            ...memory,
          ],
          [
            `${stats.projectClassCount.toLocaleString('en')} classes; ${(bytes / 1e6).toFixed(1)} MB on disk, ${Math.round(bytes / stats.projectClassCount)} bytes per class`,
          ],
        ]
          .map((part) => part.join('\n'))
          .join('\n\n')
      },
      async cleanUp() {
        await server.stop()
        user.remove()
        rmSync(folder, { recursive: true })
      },
    }
  },
}
export default bench

async function latencies(server: AnalyzerProcess): Promise<readonly string[]> {
  const questions = await questionsAbout(server, WARM_UP + QUESTIONS, SEED)
  const rows: string[] = []
  for (const [kind, paths] of questions) {
    for (const path of paths.slice(0, WARM_UP)) await server.get(path)
    const { times, largest } = await timesOf(server, paths.slice(WARM_UP))
    const at = (share: number) =>
      `${(times[Math.floor(share * (times.length - 1))] ?? Number.NaN).toFixed(1)} ms`
    rows.push(`| ${kind} | ${at(0.5)} | ${at(0.99)} | ${at(1)} | ${kilobytes(largest)} |`)
  }
  return rows
}

async function wholeLatencies(server: AnalyzerProcess): Promise<readonly string[]> {
  const rows: string[] = []
  for (const path of WHOLE) {
    const { times, largest } = await timesOf(server, Array<string>(WHOLE_RUNS).fill(path))
    rows.push(
      `| ${path} | ${(times[Math.floor(WHOLE_RUNS / 2)] ?? Number.NaN).toFixed(0)} ms | ${kilobytes(largest)} |`,
    )
  }
  return rows
}

/** Returns times in ascending order. */
async function timesOf(server: AnalyzerProcess, paths: readonly string[]) {
  const times: number[] = []
  let largest = 0
  for (const path of paths) {
    const beganMs = performance.now()
    const body = await server.get(path)
    times.push(performance.now() - beganMs)
    largest = Math.max(largest, body.length)
  }
  return { times: times.toSorted((a, b) => a - b), largest }
}

function memoryRow(when: string, pid: number): string {
  const show = (pids: readonly number[]) => {
    const { rss, anonymous } = memoryOf(pids)
    return `${mebibytes(rss)}, ${mebibytes(anonymous)}`
  }
  const tree = processTree(pid)
  return `| ${when} | ${show([pid])} | ${show(tree)} (${tree.length} processes) |`
}

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`
const kilobytes = (bytes: number) => `${(bytes / 1e3).toFixed(0)} kB`

/** Returns Node's own share: how much of its binary is resident varies from day to day. */
async function bareNodeRow(): Promise<string> {
  const bare = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1e9)'], { stdio: 'ignore' })
  await delay(BARE_START_MS)
  const row = memoryRow('an idle Node process', bare.pid ?? 0)
  bare.kill()
  return row
}
