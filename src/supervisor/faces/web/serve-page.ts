import { readFileSync } from 'node:fs'
import type { HttpServer } from '../../../lib/http/server.ts'

const PARTS = [
  ['/', 'page.html', 'text/html; charset=utf-8'],
  ['/page.css', 'page.css', 'text/css; charset=utf-8'],
  ['/page.js', 'page.js', 'text/javascript; charset=utf-8'],
  ['/page-streams.js', 'page-streams.js', 'text/javascript; charset=utf-8'],
] as const

const HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
}

/** Serves the page at `/`. It holds nothing of the processes: for that it asks the API, with the token where one is needed. */
export function servePage({ app }: HttpServer): void {
  for (const [path, file, type] of PARTS) {
    const content = readFileSync(new URL(file, import.meta.url))
    app.get(path, { config: { needsNoToken: true }, schema: { hide: true } }, (_request, reply) =>
      reply.headers(HEADERS).type(type).send(content),
    )
  }
}
