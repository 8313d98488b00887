import { execFileSync } from 'node:child_process'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { compareMembers } from '../../../../src/analyzer/diff/compare-members.ts'
import { askSince } from '../../../../src/analyzer/faces/cli/ask-since.ts'
import { startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { compile, ImpactProgram, results } from '../../../support/analyzer/impact-program.ts'
import { randomFor } from '../../../support/differential/random.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { SEED } from '../../../support/seed.ts'

const MUTATIONS = Number(process.env['IMPACT_MUTATIONS'] ?? 4)
/** Rounds in which a mutation has to change a result. */
const MAX_ROUNDS = 50
async function post(analyzer: TestAnalyzer, path: string, body: object): Promise<any> {
  const response = await fetch(`${analyzer.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${analyzer.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (response.status !== 200) throw new Error(JSON.stringify(answer))
  return answer
}

function isSelected(selection: readonly any[], name: string): boolean {
  const [classFqn, method] = name.split('#')
  return selection.some(
    (each) => each.classFqn === classFqn && (each.methods === null || each.methods.includes(method)),
  )
}

test('every test whose result a mutation changes is selected', async () => {
  const root = join(tempDir(), 'generated')
  const old = join(tempDir(), 'old')
  new ImpactProgram(randomFor(SEED, 0)).write(root)
  compile(root)
  cpSync(join(root, 'target'), old, { recursive: true })
  const before = results(root)
  const git = (...argv: readonly string[]) => execFileSync('git', argv, { cwd: root, stdio: 'ignore' })
  git('init', '-q')
  git('add', 'src')
  git('-c', 'user.name=a', '-c', 'user.email=a@localhost', 'commit', '-q', '-m', 'old')
  const analyzer = await startAnalyzer(root)
  onTestFinished(analyzer.stop)
  let noticed = 0
  let left = 0
  for (let round = 1; round <= MUTATIONS || (noticed === 0 && round <= MAX_ROUNDS); round++) {
    const program = new ImpactProgram(randomFor(SEED, 0))
    const random = randomFor(SEED, round)
    const mutation = Array.from({ length: 1 + (round % 2) }, () => program.mutate(random)).join(', ')
    rmSync(join(root, 'src'), { recursive: true })
    program.write(root)
    compile(root)
    const after = results(root)
    await post(analyzer, '/project/refresh', {})
    const { classes, problems } = compareMembers({ old: [old], new: [join(root, 'target')], release: 99 })
    expect(problems).toEqual([])
    const against = await post(analyzer, '/impact', { classes, from: 'test' })
    const since = await askSince(root, 'HEAD', (files) => post(analyzer, '/impact', { files, from: 'test' }))
    for (const [name, value] of after) {
      if (before.get(name) === value) {
        if (!isSelected(against.selection, name)) left++
        continue
      }
      noticed++
      const about = JSON.stringify({ round, mutation, name })
      expect(isSelected(against.selection, name), `against ${about}`).toBe(true)
      expect(isSelected(since.selection, name), `since ${about}`).toBe(true)
    }
  }
  // The test would prove nothing if mutations changed no result, or everything were selected.
  expect(noticed).toBeGreaterThan(0)
  expect(left).toBeGreaterThan(0)
})
