import { expect, test } from 'vitest'
import { startContent } from '../../support/content/content-server.ts'

const FILES = {
  'repos/guide/_meta.json': JSON.stringify({
    description: 'How to',
    last_published: '2026-01-02T03:04:05Z',
    repo: 'a/b',
  }),
  'repos/bare/page.html': 'bare',
  'repos/versioned/_meta.json': JSON.stringify({ versions: ['2.0', '1.0'], latest: '2.0' }),
}

test('all repositories are listed, those without _meta.json only by their name', async () => {
  const { ask } = await startContent(FILES)
  const answer = await ask('/_api/repos')
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(await answer.json()).toEqual([
    { name: 'bare' },
    { name: 'guide', description: 'How to', last_published: '2026-01-02T03:04:05Z', repo: 'a/b' },
    { name: 'versioned', versions: ['2.0', '1.0'], latest: '2.0' },
  ])
})

test('the list expires like content, and is purged with it', async () => {
  let nowMs = 0
  const clock = { nowMs: () => nowMs, wallMs: Date.now }
  const { ask, store } = await startContent(FILES, { clock })
  const count = async (): Promise<number> => ((await (await ask('/_api/repos')).json()) as unknown[]).length
  expect(await count()).toBe(3)
  await store.write('repos/new/x', Buffer.from('x'), { contentType: '' })
  nowMs = 299_000
  expect(await count()).toBe(3)
  expect(await (await ask('/_admin/cache/purge', { method: 'POST' })).json()).toEqual({ status: 'ok' })
  expect(await count()).toBe(4)
  await store.write('repos/newer/x', Buffer.from('x'), { contentType: '' })
  nowMs += 300_001
  expect(await count()).toBe(5)
})

test('the home page escapes all fields', async () => {
  const evil = '<script>alert(1)</script>"\'&'
  const { ask } = await startContent({ 'repos/a/_meta.json': JSON.stringify({ description: evil }) })
  const page = await (await ask(`/?q=${encodeURIComponent(evil)}`)).text()
  expect(page).not.toContain('<script>alert')
  expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;')
})
