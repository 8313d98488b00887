import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startContent, type TestContent } from '../../../support/content-server.ts'

const FILES = {
  'repos/guide/deep/index.html': 'deep',
  'repos/bare/page.html': 'bare',
  'repos/versioned/_meta.json': JSON.stringify({ versions: ['2.0'], latest: '2.0' }),
}

/** fetch names its host itself. */
async function askHost({ url, cookie }: TestContent, host: string, path: string) {
  const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
    request(url + path, { headers: { cookie, host } }, resolve)
      .on('error', reject)
      .end(),
  )
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) }
}

test('O6 with a domain each repository has a host of its own', async () => {
  const content = await startContent(FILES, {
    settings: { http: { port: 0, repo_domain: 'docs.example' } },
  })
  const at = (host: string, path: string) => askHost(content, host, path)
  const main = await at('docs.example:99', '/repos/guide/deep/?q')
  expect([main.status, main.headers.location]).toEqual([302, '//guide.docs.example:99/deep/'])
  expect((await at('guide.docs.example', '/deep/')).body.toString()).toBe('deep')
  expect((await at('guide.docs.example', '/deep')).headers.location).toBe('/deep/')
  expect((await at('bare.docs.example', '/deep/')).status).toBe(404)
  expect((await at('versioned.docs.example', '/')).headers.location).toBe('/2.0/')
  expect((await at('evil.example', '/')).status).toBe(403)
  expect((await content.logIn()).headers.get('set-cookie')).toContain('Domain=docs.example')
})

test('H1 no route answers to a host that is not ours', async () => {
  const content = await startContent(FILES)
  for (const host of [
    'evil.com',
    'evil.com:8090',
    '127.0.0.1.evil.com',
    'docs.example',
    'localhost.evil.com',
  ])
    for (const path of ['/', '/_login', '/_health', '/_api/repos', '/repos/bare/page.html', '/_page.css'])
      expect([host, path, (await askHost(content, host, path)).status]).toEqual([host, path, 403])
  for (const host of ['127.0.0.1', 'localhost:1', '[::1]', 'x.localhost'])
    expect((await askHost(content, host, '/repos/bare/page.html')).status).toBe(200)
})
