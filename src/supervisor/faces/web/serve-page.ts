import { readFileSync } from 'node:fs'
import { readBuiltScript } from '../../../lib/fs/built-script.ts'
import type { HttpServer } from '../../../lib/http/server.ts'

const PARTS = [
  ['/', 'page/page.html', 'text/html; charset=utf-8'],
  ['/page.css', 'page/page.css', 'text/css; charset=utf-8'],
] as const

const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

/** Serves the page at `/`. It contains no data: it requests that from the API, with the token if required. */
export function servePage({ app }: HttpServer): void {
  const isPublic = { config: { needsNoToken: true }, schema: { hide: true } }
  for (const [path, file, type] of PARTS) {
    const content = readFileSync(new URL(file, import.meta.url))
    app.get(path, isPublic, (_request, reply) => reply.headers(HEADERS).type(type).send(content))
  }
  app.get('/page.js', isPublic, (_request, reply) => {
    const script = readBuiltScript(new URL('built/page.js', import.meta.url))
    return reply.headers(HEADERS).type('text/javascript; charset=utf-8').send(script)
  })
}
