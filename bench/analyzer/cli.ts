import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { corpusJar } from '../../test/support/analyzer/corpora.ts'
import { projectOfClasses } from '../analyzer-corpora.ts'
import { analyzerProgram, BenchUser, buildPackage } from '../analyzer-server.ts'
import type { Bench, Case } from '../harness.ts'

const ASKED = 'com.google.common.collect.ImmutableList'
/** Rounds for the table of differences. */
const ROUNDS = 30

const bench: Bench = {
  note: `Complete commands of the built package against a running server, compared with the start of Node itself (\`node -e 0\`).`,

  async prepare() {
    buildPackage()
    const folder = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const user = new BenchUser()
    const root = projectOfClasses(join(folder, 'project'), [corpusJar('guava-')])
    const server = await user.serve(root)
    const node = (...argv: readonly string[]) =>
      execFileSync(process.execPath, argv, {
        env: user.environment,
        stdio: ['ignore', 'pipe', 'inherit'],
        maxBuffer: 2 ** 28,
      })
    const commands = new Map<string, readonly string[]>([
      [`classes show ${ASKED}`, ['classes', 'show', ASKED]],
      ['callers, a page of 50', ['callers', `${ASKED}#of`]],
      ['--version', ['--version']],
    ])
    const ask = (argv: readonly string[]) => node(analyzerProgram, ...argv, '-p', root)
    const cases = [...commands].map(([name, argv]): Case => ({
      name,
      ours: () => ask(argv),
      peer: () => node('-e', '0'),
      peerName: 'Node alone',
    }))
    return {
      cases,
      more: () => Promise.resolve(differences(cases)),
      async cleanUp() {
        await server.stop()
        user.remove()
        rmSync(folder, { recursive: true })
      },
    }
  },
}
export default bench

/** Measures how much longer each command takes than Node alone, alternating. */
function differences(cases: readonly Case[]): string {
  const rows = ['| command | more than Node alone, median | least |', '| --- | ---: | ---: |']
  for (const { name, ours, peer } of cases) {
    const each = Array.from({ length: ROUNDS }, () => timeMs(ours) - timeMs(peer)).toSorted((a, b) => a - b)
    const at = (place: number) => `${(each[place] ?? Number.NaN).toFixed(1)} ms`
    rows.push(`| ${name} | ${at(ROUNDS / 2)} | ${at(0)} |`)
  }
  return rows.join('\n')
}

function timeMs(subject: Case['ours']): number {
  const beganMs = performance.now()
  if (typeof subject === 'function') subject()
  return performance.now() - beganMs
}
