import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ignore } from '../../src/lib/errors/ignore.ts'
import type { Bench } from '../harness.ts'
import { freePort } from '../../test/support/services/free-port.ts'

const REQUESTS = 4_000
const AT_ONCE = 32
const UPLOAD = Buffer.alloc(10_000, 'x')
const LIMIT_MS = 20_000

const bench: Bench = {
  note:
    `${REQUESTS} requests, ${AT_ONCE} at a time over persistent connections, to one Node server: GET, and POST of ${UPLOAD.length / 1_000} kB, through the ` +
    "supervisor's proxy and through nginx with one worker and persistent upstream connections. nginx is compiled and does not log; both times include the client's share.",

  async prepare() {
    const upstream = createServer((asked, answer) => {
      asked.resume()
      asked.on('end', () => answer.end('hello'))
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    const { port } = upstream.address() as AddressInfo
    const dir = mkdtempSync(join(tmpdir(), 'proxy-bench-'))
    const [ours, theirs] = [await freePort(), await freePort()]
    const children = [startSupervisor(dir, ours, port), startNginx(dir, theirs, port)]
    const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
    const through =
      (proxy: number, method: string): (() => Promise<void>) =>
      () =>
        load(agent, proxy, method)
    for (const proxy of [ours, theirs]) await answers(agent, proxy)
    return {
      cases: ['GET', 'POST'].map((method) => ({
        name: method,
        ours: through(ours, method),
        peer: through(theirs, method),
        peerName: 'nginx',
      })),
      async cleanUp() {
        agent.destroy()
        for (const child of children) {
          child.kill('SIGTERM')
          await once(child, 'exit')
        }
        upstream.closeAllConnections()
        upstream.close()
        rmSync(dir, { recursive: true, force: true })
      },
    }
  },
}
export default bench

function startSupervisor(dir: string, port: number, upstream: number): ChildProcess {
  const settings = {
    api: { port: 0 },
    log: { level: 'error' },
    state_dir: 'state',
    proxy: { enabled: true, port },
    processes: { web: { cmd: 'exec sleep 100000', proxy: { port: upstream } } },
  }
  writeFileSync(join(dir, 'supervisor.yaml'), stringify(settings))
  const program = join(import.meta.dirname, '../../src/bin/supervisor.ts')
  return spawn(process.execPath, [program, 'up', '--quiet'], {
    cwd: dir,
    env: { ...process.env, HOME: dir },
    stdio: 'ignore',
  })
}

function startNginx(dir: string, port: number, upstream: number): ChildProcess {
  const conf = join(dir, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${dir}/${name};`)
    .join(' ')
  writeFileSync(
    conf,
    `${process.getuid?.() === 0 ? 'user root;' : ''} master_process off; daemon off; pid ${dir}/pid; error_log ${dir}/error.log;
events { worker_connections 1024; }
http {
  access_log off; ${temporary} keepalive_requests 100000000;
  upstream node { server 127.0.0.1:${upstream}; keepalive 64; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host; }
  }
}`,
  )
  return spawn('nginx', ['-p', dir, '-c', conf, '-e', join(dir, 'error.log')], { stdio: 'ignore' })
}

async function load(agent: Agent, port: number, method: string): Promise<void> {
  let left = REQUESTS
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const status = await send(agent, port, method)
      if (status !== 200) throw new Error(`${method} failed with status ${status}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

function send(agent: Agent, port: number, method: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ agent, port, host: '127.0.0.1', method, headers: { host: 'web.localhost' } })
    asked.on('response', (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    asked.on('error', reject)
    asked.end(method === 'POST' ? UPLOAD : undefined)
  })
}

async function answers(agent: Agent, port: number): Promise<void> {
  const endMs = performance.now() + LIMIT_MS
  while ((await send(agent, port, 'GET').catch(ignore('it does not listen yet', 0))) !== 200) {
    if (performance.now() > endMs) throw new Error(`no response on port ${port}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
