import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findReads } from '../../../../src/content/reads/find-reads.ts'
import type { ReadRecord } from '../../../../src/content/reads/read-record.ts'
import { ACCESS, HIDDEN, startAccessSite } from '../../../support/content/access-site.ts'
import { tempDir } from '../../../support/temp-dir.ts'

test(
  'O8 every request for a page of a repository is logged with its reader and status, denied ones too',
  { tags: ['long'] },
  async () => {
    const dir = tempDir()
    const site = await startAccessSite(ACCESS.readers, 'hidden', {
      dir,
      settings: { reads: { file: 'reads.jsonl' } },
    })
    const page = await site.as('ann', `/repos/${HIDDEN}/2.0/?secret=canary`)
    const etag = page.headers.get('etag') ?? ''
    await site.as('ann', `/repos/${HIDDEN}/2.0/`, { headers: { 'if-none-match': etag } })
    await site.as('ann', `/repos/${HIDDEN}/a%20b.html`, { method: 'HEAD' })
    await site.as('ann', `/repos/${HIDDEN}/latest/`)
    await site.as('bob', `/repos/${HIDDEN}/2.0/`)
    await site.as('bob', '/repos/none/')
    await site.as('visitor', '/repos/open/')
    // These are not pages of repositories that somebody reads.
    await site.as('visitor', '/repos/shared/2.0/')
    for (const path of ['/', '/_api/repos', '/_api/search?q=the', '/nowhere']) await site.as('ann', path)
    await site.running.stop()
    const records: Omit<ReadRecord, 'time'>[] = []
    for await (const { time, ...record } of findReads(join(dir, 'reads.jsonl'), {})) {
      expect(Date.parse(time)).toBeGreaterThan(0)
      records.push(record)
    }
    const ann = { user: 'ann', repo: HIDDEN, method: 'GET' }
    expect(records).toEqual([
      { ...ann, version: '2.0', path: '/2.0/', status: 200 },
      { ...ann, version: '2.0', path: '/2.0/', status: 304 },
      { ...ann, path: '/a b.html', method: 'HEAD', status: 200 },
      { ...ann, version: '2.0', path: '/latest/', status: 200 },
      { ...ann, user: 'bob', version: '2.0', path: '/2.0/', status: 404, denied: true },
      { ...ann, user: 'bob', repo: 'none', path: '/', status: 404 },
      { repo: 'open', path: '/', method: 'GET', status: 200 },
    ])
    expect(JSON.stringify(records)).not.toContain('canary')
  },
)

test('without a configured file nothing is logged', async () => {
  const dir = tempDir()
  const site = await startAccessSite(ACCESS.readers, 'hidden', { dir })
  await site.as('ann', `/repos/${HIDDEN}/2.0/`)
  await site.running.stop()
  expect(existsSync(join(dir, 'reads.jsonl'))).toBe(false)
})
