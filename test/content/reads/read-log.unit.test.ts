import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { findReads, type ReadFilter } from '../../../src/content/reads/find-reads.ts'
import { ReadLog } from '../../../src/content/reads/read-log.ts'
import { type ReadRecord, withVersion } from '../../../src/content/reads/read-record.ts'
import { tempDir } from '../../support/temp-dir.ts'

function open(dir: string, { maxBytes = 1_000_000, keep = 3 } = {}) {
  const file = join(dir, 'log/reads.jsonl')
  const lines: string[] = []
  const destination = { write: (line: string) => lines.push(line) }
  const logger = createLogger({ level: 'info', format: 'json', destination: destination as never })
  const log = new ReadLog({ file, maxBytes, keep }, logger, (records) => Promise.resolve(records))
  return { file, log, lines }
}

const record = (at: number, more: Partial<ReadRecord> = {}): ReadRecord => ({
  time: new Date(at).toISOString(),
  user: 'ann',
  repo: 'guide',
  path: `/${at}.html`,
  method: 'GET',
  status: 200,
  ...more,
})

async function found(file: string, filter: ReadFilter = {}): Promise<readonly string[]> {
  const paths: string[] = []
  for await (const { path } of findReads(file, filter)) paths.push(path)
  return paths
}

test('records are written in order, one line each, readable only by their owner', async () => {
  const { file, log } = open(tempDir())
  log.record(record(1, { path: '/a\n"b\u2028' }))
  log.record(record(2))
  await log.close()
  const text = readFileSync(file, 'utf8')
  expect(text.split('\n')).toHaveLength(3)
  expect(JSON.parse(text.split('\n')[0] ?? '')).toEqual(record(1, { path: '/a\n"b\u2028' }))
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('a full log is rotated, old files are deleted, and several processes share it', async () => {
  const dir = tempDir()
  const { file, log } = open(dir, { maxBytes: 1_000, keep: 3 })
  const { log: other } = open(dir, { maxBytes: 1_000, keep: 3 })
  for (let i = 0; i < 60; i++) {
    const each = i % 2 === 0 ? log : other
    each.record(record(i))
    await each.flush()
  }
  const left = await found(file)
  expect(left).toEqual(Array.from({ length: left.length }, (_, i) => `/${60 - left.length + i}.html`))
  expect(left.length).toBeGreaterThan(20)
  await log.close()
  await other.close()
  const names = readdirSync(join(dir, 'log')).filter((name) => !name.endsWith('.lock'))
  expect(names.toSorted()).toEqual(['reads.jsonl', 'reads.jsonl.1', 'reads.jsonl.2', 'reads.jsonl.3'])
  for (const name of names) expect(statSync(join(dir, 'log', name)).size).toBeLessThan(1_200)
})

test('a log that cannot be written is reported once, and the lost records are counted', async () => {
  const { file, log, lines } = open(tempDir())
  mkdirSync(file, { recursive: true })
  for (const at of [1, 2, 3]) {
    log.record(record(at))
    await log.flush()
  }
  expect(lines.filter((line) => line.includes('cannot be written'))).toHaveLength(1)
  rmdirSync(file)
  log.record(record(4))
  await log.close()
  expect(lines.at(-1)).toContain('"lost":3')
  expect(await found(file)).toEqual(['/4.html'])
})

test('records that wait for a slow disk are limited', async () => {
  const { file, log, lines } = open(tempDir())
  const path = `/${'x'.repeat(1_000)}`
  for (let i = 0; i < 2_000; i++) log.record(record(i, { path }))
  await log.close()
  const written = (await found(file)).length
  expect(written).toBeLessThan(1_000)
  expect(lines.at(-1)).toContain(`"lost":${2_000 - written}`)
})

test.each([
  [{ sinceMs: 2 }, ['/2.html', '/3.html', '/4.html']],
  [{ repo: 'hr' }, ['/2.html']],
  [{ user: 'bob' }, ['/3.html']],
  [{ token: 'ci' }, ['/4.html']],
  [{ token: 'ci', user: 'ann' }, []],
] as const)('findReads selects %j, and skips damaged lines', async (filter, expected) => {
  const { file, log } = open(tempDir())
  log.record(record(1))
  await log.flush()
  appendFileSync(file, 'damaged\n{"time":1}\n\n')
  log.record(record(2, { repo: 'hr' }))
  log.record(record(3, { user: 'bob' }))
  const { user: _user, ...program } = record(4, { token: 'ci' })
  log.record(program)
  await log.close()
  expect(await found(file, filter)).toEqual(expected)
})

test('a missing log has no records', async () => {
  expect(await found(join(tempDir(), 'none/reads.jsonl'))).toEqual([])
})

test('the version of a record is that of its repository', () => {
  const repos = new Map([['guide', { name: 'guide', versions: ['1.0'], latest: '2.0' }]])
  const versionOf = (path: string, repo = 'guide') => withVersion(record(1, { path, repo }), repos).version
  expect(['/1.0/x', '/2.0/', '/3.0/', '/', '/x'].map((path) => versionOf(path))).toEqual([
    '1.0',
    '2.0',
    undefined,
    undefined,
    undefined,
  ])
  expect(versionOf('/1.0/', 'other')).toBeUndefined()
})
