import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { makeTempDir } from '../support/temp-dir.ts'

const { path: folder, remove } = makeTempDir()
afterAll(remove)
const report = join(folder, 'long.json')
const record = join(folder, 'proofs.json')

/** Runs scripts/proofs.ts. */
function proofs(...argv: readonly string[]) {
  return run(process.execPath, [join(packageRoot, 'scripts/proofs.ts'), ...argv])
}

beforeAll(() => {
  const ofFault = (title: string, status: string, recoveryMs?: number) => ({
    ancestorTitles: ['F1 F2, with *stars*'],
    title,
    status,
    meta: recoveryMs === undefined ? {} : { recoveryMs },
  })
  const assertionResults = [
    ofFault('a <b>', 'passed', 500),
    ofFault('c', 'passed', 2_000),
    ofFault('d', 'skipped'),
  ]
  const failing = { ancestorTitles: [], title: 'P4 e', status: 'failed' }
  const name = join(packageRoot, 'test/some.long.test.ts')
  const testResults = [{ name, assertionResults: [...assertionResults, failing] }]
  writeFileSync(report, JSON.stringify({ startTime: Date.UTC(2026, 10, 26), testResults }))
})

test('proofs.ts prints the result of each promise and fails if one is broken or not run', async () => {
  const { stdout, status } = await proofs('faults', report)
  expect(stdout).toMatch(/^F1 {7}3 {2}holds, 1 skipped {4}2\.00, at most 2\.00 +A server is killed/m)
  expect(stdout).toMatch(/^F3 {7}0 {2}NOT RUN/m)
  expect(stdout).toMatch(/^2 of 38 faults hold$/m)
  expect(status).toBe(1)
  expect((await proofs('threats', report)).stdout).toMatch(/^P4 {7}1 {2}FAILS \(1\)/m)
})

test('the page shows the recorded results with commit, date, tests and files', async () => {
  expect(await proofs('record', record, report)).toMatchObject({ status: 0, stderr: '' })
  const { stdout } = await proofs('page', record)
  const { commit } = JSON.parse(readFileSync(record, 'utf8')) as { commit: string }
  expect(commit).toMatch(/^[0-9a-f]{40}$/)
  expect(stdout).toContain(`Run at 2026-11-26T00:00:00.000Z on commit \`${commit}\``)
  expect(stdout).toMatch(/\*\*2 of \d+ promises hold\.\*\*/)
  expect(stdout).toMatch(
    /^\| \[F1\]\(#f1\) \| A server is killed.* \| holds, 1 skipped \| 2\.00, at most 2\.00 \|$/m,
  )
  expect(stdout).toMatch(/^\| \[P4\]\(#p4\) \| .* \| FAILS \(1\) \| {2}\|$/m)
  expect(stdout).toMatch(/^\| \[F3\]\(#f3\) \| .* \| not run \| {2}\|$/m)
  expect(stdout).toMatch(/^\| \[F37\]\(#f37\) \| .* \| proven by `npm run test:native` \| {2}\|$/m)
  expect(stdout).toContain(
    '`test/some.long.test.ts`\n\n- passed: F1 F2, with \\*stars\\* › a &lt;b\\>\n- passed: F1 F2, with \\*stars\\* › c\n',
  )
})

test('without recorded results, the page lists the tests of each promise as not run', async () => {
  const { stdout } = await proofs('page', join(folder, 'missing.json'))
  expect(stdout).toContain('**Not run here.**')
  expect(stdout).not.toMatch(/\| holds/)
  const [, f36 = ''] = /^### F36\n([^]*?)\n### /m.exec(stdout) ?? []
  expect(f36).toContain('`test/workspace/faults/sigterm.long.test.ts`')
  expect(f36).toContain(
    '- not run: F36 a server stops within 10 s after SIGTERM at any moment and then starts clean',
  )
  for (const details of stdout.split('\n### ').slice(1))
    if (!details.startsWith('F37\n')) expect(details).toContain('- not run: ')
})
