import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ignoreMissing } from '../fs/ignore-missing.ts'
import type { HttpServer } from './server.ts'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

const PAGE_HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; " +
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'x-frame-options': 'DENY',
}
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' }

interface Part {
  readonly type: string
  readonly content: Buffer
  /** Created on first use. */
  zipped?: Buffer
}

/**
 * Serves the page at `/`. The page itself contains no data; it fetches everything from the API, with the token if required.
 * If the page is not built, `/` explains how to build it; the API works regardless.
 *
 * @param built output directory of the build, ending in a slash: `index.html`, and `assets/` with content-hashed file names
 */
export function servePage({ app }: HttpServer, built: URL): void {
  const page = readPart(new URL('index.html', built))
  const assets = new Map(
    namesIn(new URL('assets/', built)).map((name) => [name, readPart(new URL(`assets/${name}`, built))]),
  )
  const isPublic = { config: { needsNoToken: true }, schema: { hide: true } }

  app.get('/', isPublic, (request, reply) => {
    if (page !== undefined) return sendPart(page, PAGE_HEADERS, request, reply)
    const remedy = 'The web page is not built. Run "npm run build" and restart the server.\n'
    return reply.status(503).type('text/plain; charset=utf-8').send(remedy)
  })
  app.get<{ Params: { readonly file: string } }>('/assets/:file', isPublic, (request, reply) => {
    const asset = assets.get(request.params.file)
    return asset === undefined ? reply.callNotFound() : sendPart(asset, ASSET_HEADERS, request, reply)
  })
}

function sendPart(
  part: Part,
  headers: Readonly<Record<string, string>>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  void reply.headers({ ...headers, vary: 'accept-encoding' }).type(part.type)
  if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(part.content)
  part.zipped ??= gzipSync(part.content, { level: 9 })
  return reply.header('content-encoding', 'gzip').send(part.zipped)
}

function readPart(file: URL): Part | undefined {
  try {
    return {
      type: TYPES[extname(file.pathname)] ?? 'application/octet-stream',
      content: readFileSync(file),
    }
  } catch (error) {
    return ignoreMissing(error)
  }
}

function namesIn(directory: URL): readonly string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    return ignoreMissing(error) ?? []
  }
}
