import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLogger } from '../../../../src/lib/log/logger.ts'
import { createHttpServer } from '../../../../src/lib/http/server.ts'
import { servePage } from '../../../../src/lib/http/serve-page.ts'
import { suiteDir, tempDir } from '../../../support/temp-dir.ts'

async function serve(built: string): Promise<string> {
  const http = createHttpServer({
    info: { title: 'test', version: '0', description: 'test' },
    logger: createLogger({ level: 'silent', format: 'json' }),
    allowedHosts: [],
    errors: { render: ({ code, message }) => ({ error: { code, message } }), schema: {} },
    token: 'secret',
  })
  servePage(http, pathToFileURL(`${built}/`))
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => http.stop())
  return `http://127.0.0.1:${port}`
}

describe('a built page', () => {
  const built = suiteDir()
  beforeAll(() => {
    mkdirSync(join(built.path, 'assets'))
    writeFileSync(join(built.path, 'index.html'), '<!doctype html><title>page</title>')
    writeFileSync(join(built.path, 'assets', 'page-abc.js'), 'let a = 1\n'.repeat(100))
  })

  test('is served without the token and with a policy that allows only its own origin', async () => {
    const answer = await fetch(await serve(built.path))
    expect(await answer.text()).toContain('<title>page</title>')
    const policy = answer.headers.get('content-security-policy')
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
      expect(policy).toContain(part)
    expect(answer.headers.get('cache-control')).toBe('no-cache')
  })

  test('serves compressed, cacheable assets to clients that accept them', async () => {
    const url = `${await serve(built.path)}/assets/page-abc.js`
    const zipped = await fetch(url)
    expect(await zipped.text()).toBe('let a = 1\n'.repeat(100))
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect(zipped.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(zipped.headers.get('cache-control')).toContain('immutable')
    const plain = await fetch(url, { headers: { 'accept-encoding': 'identity' } })
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(await plain.text()).toBe('let a = 1\n'.repeat(100))
  })

  test.each(['/assets/other.js', '/assets/..%2findex.html', '/assets/'])(
    'does not serve %s',
    async (path) => {
      expect((await fetch((await serve(built.path)) + path)).status).toBe(404)
    },
  )
})

test('a server without a built page explains how to build it', async () => {
  const answer = await fetch(await serve(join(tempDir(), 'none')))
  expect(answer.status).toBe(503)
  expect(await answer.text()).toContain('npm run build')
})
