import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildPackage } from '../analyzer-server.ts'
import type { Bench } from '../harness.ts'
import { memoryOf } from '../process-memory.ts'
import { type Soaked, soakedAnalyzer, soakedContent, soakedSupervisor, soakedWorkspaces } from '../soaked.ts'

const MINUTES = Number(process.env['SOAK_MINUTES'] ?? '10')
const SAMPLES = 5

const bench: Bench = {
  note: `All four programs in parallel, each used continuously for ${MINUTES} minutes (SOAK_MINUTES), round after round: workspaces are created, entered over SSH, stopped, started and deleted; processes crash, print and are restarted while logs are followed; pages are read, searched and published; classes change, are read again and queried. Resident memory and open files include the program’s worker processes, at each fifth of the time: leaks grow from the first fifth to the last. (The analyzer caches up to 96 MiB until it has been idle for 30 s, and maps its store.)`,

  async prepare() {
    buildPackage()
    const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const soaked = [
      await soakedWorkspaces(),
      await soakedSupervisor(),
      await soakedContent(folder),
      await soakedAnalyzer(folder),
    ]
    return {
      cases: [],
      async more() {
        const rows = await Promise.all(soaked.map(use))
        const head = ['program', 'rounds', 'failed', 'memory, MiB', 'open files']
        return [head, ['---', '---:', '---:', '---:', '---:'], ...rows]
          .map((row) => `| ${row.join(' | ')} |`)
          .join('\n')
      },
      async cleanUp() {
        for (const { stop } of soaked) await stop()
        rmSync(folder, { recursive: true })
      },
    }
  },
}
export default bench

/** Uses a program until the time is over; returns its table row. */
async function use({ name, pids, round }: Soaked): Promise<readonly string[]> {
  const beginMs = performance.now()
  const memory: number[] = []
  const files: number[] = []
  let rounds = 0
  const failures: string[] = []
  for (let sample = 1; sample <= SAMPLES; sample++) {
    while (performance.now() < beginMs + (MINUTES * 60_000 * sample) / SAMPLES) {
      await round(rounds++).catch((cause: unknown) => failures.push(String(cause)))
    }
    const own = pids()
    memory.push(Math.round(memoryOf(own).rss / 2 ** 20))
    files.push(own.reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0))
  }
  const [first = ''] = failures
  return [name, String(rounds), `${failures.length} ${first}`.trim(), memory.join(' '), files.join(' ')]
}
