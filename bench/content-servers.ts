import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../src/lib/errors/ignore.ts'
import { cheapHash } from '../test/support/content/cheap-hash.ts'
import { freePort } from '../test/support/services/free-port.ts'

const ROOT = join(import.meta.dirname, '..')
const LIMIT_MS = 20_000

/** A server in a separate process, pinned to one core. */
export interface ContentServer {
  readonly name: string
  readonly url: string
  /** Session cookie of a reader. */
  readonly cookie: string
  readonly pid: number
  readonly stop: () => Promise<void>
}

/** Starts our server with the given settings. */
export async function startOurs(
  dir: string,
  store: Readonly<Record<string, unknown>>,
): Promise<ContentServer> {
  const port = await freePort()
  const file = join(dir, `docs-${port}.json`)
  const settings = {
    http: { port },
    store,
    session: { file: join(dir, 'sessions.db'), secure: false },
    password_hash: cheapHash('right'),
    log: { level: 'silent' },
  }
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(settings))
  const program = join(ROOT, 'dist/src/bin/content-server.js')
  const url = `http://127.0.0.1:${port}`
  const child = onFirstCore([process.execPath, program, '-c', file, 'serve'])
  await answers(`${url}/_health`)
  const body = new URLSearchParams({ password: 'right' })
  const login = await fetch(`${url}/_login`, { method: 'POST', body, redirect: 'manual' })
  const cookie = /^[^;]+/.exec(login.headers.get('set-cookie') ?? '')?.[0] ?? ''
  return { name: 'ours', url, cookie, pid: child.pid ?? 0, stop: () => end(child) }
}

/**
 * Starts nginx with one worker; for each request it asks a checker, which it also serves, whether the cookie is
 * valid.
 */
export async function startNginx(dir: string): Promise<ContentServer> {
  const port = await freePort()
  const home = join(dir, `nginx-${port}`)
  mkdirSync(home)
  const conf = join(home, 'nginx.conf')
  writeFileSync(
    conf,
    `user root; worker_processes 1; daemon off; pid ${home}/pid; error_log ${home}/error.log;
events { worker_connections 1024; }
http {
  access_log off; sendfile on; tcp_nopush on; open_file_cache max=1000; etag on;
  client_body_temp_path ${home}/body; proxy_temp_path ${home}/proxy; fastcgi_temp_path ${home}/f; uwsgi_temp_path ${home}/u; scgi_temp_path ${home}/s;
  server {
    listen 127.0.0.1:${port} backlog=1024; root ${dir}/store; keepalive_requests 1000000;
    location /repos/ { auth_request /check; }
    location = /check { internal; if ($cookie__session = right) { return 204; } return 401; }
  }
}`,
  )
  const child = onFirstCore(['nginx', '-p', home, '-c', conf])
  const url = `http://127.0.0.1:${port}`
  await answers(url)
  return {
    name: 'nginx, auth_request',
    url,
    cookie: '_session=right',
    pid: child.pid ?? 0,
    stop: () => end(child),
  }
}

/** Starts a Fastify route that sends a buffer of the page's size, without checks. */
export async function startFastify(bytes: number): Promise<ContentServer> {
  const port = await freePort()
  const program = `
    const { default: Fastify } = await import('fastify')
    const page = Buffer.alloc(${bytes}, 'x')
    const app = Fastify()
    app.get('/repos/*', (request, reply) => reply.type('text/html; charset=utf-8').send(page))
    await app.listen({ host: '127.0.0.1', port: ${port} })`
  const child = onFirstCore([process.execPath, '--input-type=module', '-e', program])
  const url = `http://127.0.0.1:${port}`
  await answers(`${url}/repos/x`)
  return { name: 'Fastify, bare route', url, cookie: '', pid: child.pid ?? 0, stop: () => end(child) }
}

function onFirstCore(command: readonly string[]): ChildProcess {
  return spawn('taskset', ['-c', '0', ...command], {
    cwd: ROOT,
    stdio: 'ignore',
    env: { ...process.env, NODE_ENV: 'production' },
  })
}

async function answers(url: string): Promise<void> {
  const endMs = performance.now() + LIMIT_MS
  while ((await fetch(url).catch(ignore('it does not listen yet'))) === undefined) {
    if (performance.now() > endMs) throw new Error(`no response from ${url}`)
    await delay(50)
  }
}

async function end(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  if (child.kill('SIGTERM')) await gone
}
