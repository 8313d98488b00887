import { appendFileSync, mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { AuditLog } from '../../../src/workspace/audit/audit-log.ts'
import { verifyChain } from '../../../src/workspace/audit/chain.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { userEnvironment, workspaceCli } from '../../support/workspace/client/workspace-cli.ts'
import { rounds } from '../../support/rounds.ts'

const logger = createLogger({ level: 'silent', format: 'json' })

/** Writes an entry for each workspace, as one run of a server. */
async function write(file: string, ...workspaces: readonly string[]): Promise<void> {
  const log = await AuditLog.open(file, logger, systemClock)
  for (const workspace of workspaces) {
    log.record({ action: 'workspace.start', workspace, address: '' }, { outcome: 'ok' })
    if (workspace.endsWith('!')) await log.close()
  }
  await log.close()
}

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined)
}

const check = (texts: readonly string[], head?: string) =>
  verifyChain(
    texts.map((text, index) => ({ name: String(index), lines: linesOf(text) })),
    head,
  )

test('entries are linked across runs, rotations and interrupted writes', async () => {
  const directory = tempDir()
  const [old, file] = [join(directory, 'old'), join(directory, 'audit')]
  await write(file, 'one', 'two!', 'three')
  await write(file, 'four')
  const log = await AuditLog.open(file, logger, systemClock)
  renameSync(file, old)
  log.record({ action: 'workspace.stop', workspace: 'five', address: '' }, { outcome: 'ok' })
  await log.close()
  appendFileSync(file, '{"time":"2026-')
  await write(file, 'six')
  const texts = [old, file].map((each) => readFileSync(each, 'utf8'))
  expect(await check(texts)).toMatchObject({
    entries: 6,
    incomplete: 1,
    damaged: [],
    restarts: [],
    isContinued: false,
  })
  // The newer file alone continues an earlier one.
  expect(await check(texts.slice(1))).toMatchObject({ entries: 2, damaged: [], isContinued: true })
  expect(await check(texts.toReversed())).toMatchObject({ damaged: [], restarts: ['1:1'] })
})

test('every change, removal, insertion and exchange of entries is found', async () => {
  const file = join(tempDir(), 'audit')
  await write(file, ...Array.from({ length: 12 }, (_, i) => `workspace-${i}`))
  const text = readFileSync(file, 'utf8')
  const lines = text.split('\n').slice(0, -1)
  const { head } = await check([text])
  const isFound = async (changed: readonly string[]) => {
    const report = await check([`${changed.join('\n')}\n`], head)
    if (report.isContinued) return true
    return report.damaged.length > 0 || report.restarts.length > 0 || report.hasHead === false
  }
  const at = fc.integer({ min: 0, max: lines.length - 1 })
  await fc.assert(
    fc.asyncProperty(at, at, fc.nat(), async (one, other, byte) => {
      const line = lines[one] ?? ''
      const position = byte % line.length
      const letter = line.charCodeAt(position) === 120 ? 'y' : 'x'
      const changed = lines.with(one, line.slice(0, position) + letter + line.slice(position + 1))
      expect([one, await isFound(changed)]).toEqual([one, true])
      expect(await isFound(lines.toSpliced(one, 1))).toBe(true)
      expect(await isFound(lines.toSpliced(one, 0, lines[other] ?? ''))).toBe(true)
      const exchanged = lines.with(one, lines[other] ?? '').with(other, line)
      expect(await isFound(exchanged)).toBe(one !== other)
    }),
    { numRuns: rounds(40, 200) },
  )
  expect(await isFound(lines.slice(0, -1))).toBe(true)
  expect(await isFound(lines)).toBe(false)
})

test('after a failed write, the chain continues from what is in the file', async () => {
  const file = join(tempDir(), 'audit')
  const log = await AuditLog.open(file, logger, systemClock)
  const record = async (workspace: string) => {
    log.record({ action: 'workspace.start', workspace, address: '' }, { outcome: 'ok' })
    await log.close()
  }
  await record('one')
  renameSync(file, `${file}.kept`)
  // Nothing can be written to a directory.
  mkdirSync(file)
  await record('lost')
  rmdirSync(file)
  renameSync(`${file}.kept`, file)
  appendFileSync(file, '{"partly')
  await record('two')
  expect(await check([readFileSync(file, 'utf8')])).toMatchObject({ entries: 2, incomplete: 1, damaged: [] })
})

test('the command reports damage with its place, and compares with a noted head', async () => {
  const file = join(tempDir(), 'audit')
  await write(file, 'one', 'two', 'three')
  const run = (...argv: readonly string[]) => workspaceCli(['audit', 'verify', ...argv], userEnvironment())
  const good = await run(file, '--json')
  expect(good.status).toBe(0)
  const { head, entries } = JSON.parse(good.stdout) as { head: string; entries: number }
  expect(entries).toBe(3)
  expect((await run(file, '--head', head, '--table')).stdout).toContain('3 entries, all linked')
  const text = readFileSync(file, 'utf8')
  writeFileSync(file, text.replace('"two"', '"six"'))
  const changed = await run(file, '--table')
  expect(changed.status).toBe(1)
  expect(changed.stderr).toContain(`${file}:2`)
  writeFileSync(file, text.split('\n').slice(0, 2).join('\n') + '\n')
  expect((await run(file)).status).toBe(0)
  const shortened = await run(file, '--head', head)
  expect([shortened.status, shortened.stderr]).toEqual([
    1,
    expect.stringContaining('does not contain the head'),
  ])
  expect((await run(join(file, 'none'))).stderr).toContain('cannot be read')
})
