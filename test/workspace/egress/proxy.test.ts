import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import {
  exchange,
  openSecured,
  openTunnel,
  serveProfile,
  type ServedProxy,
  startUpstream,
  type Upstream,
} from '../../support/workspace/server/egress-proxy.ts'
import { makeTempDir } from '../../support/temp-dir.ts'

const SECRET = 'sk-live-0123456789'
const temporary = makeTempDir()
let upstream: Upstream
let proxy: ServedProxy
let caFile: string
let secretFile: string

beforeAll(async () => {
  upstream = await startUpstream()
  const directory = temporary.path
  secretFile = join(directory, 'secret')
  caFile = join(directory, 'ca.pem')
  writeFileSync(secretFile, `${SECRET}\n`)
  const to = { upstream: `https://localhost:${upstream.port}` }
  proxy = await serveProfile(
    {
      secrets: { github: { file: secretFile }, model: { env: 'MODEL_KEY' }, gone: { file: '/nonexistent' } },
      profiles: {
        agents: {
          rules: [
            {
              host: 'api.test',
              methods: ['GET'],
              paths: ['/repos/acme/**'],
              credential: { secret: 'github' },
              ...to,
            },
            { host: 'api.test', methods: ['POST'], paths: ['/graphql'], ...to },
            { host: 'model.test', credential: { secret: 'model', header: 'x-api-key' }, ...to },
            {
              host: 'git.test',
              credential: { secret: 'github', scheme: 'basic', user: 'x-access-token' },
              ...to,
            },
            { host: 'broken.test', credential: { secret: 'gone' }, ...to },
            { host: '*.wild.test', ...to },
            { host: 'plain.test', scheme: 'http', ...to },
            // Names of this host, without an upstream that allows them.
            { host: 'localhost', port: upstream.port },
            { host: 'localhost', port: upstream.port, scheme: 'http' },
          ],
        },
      },
    },
    'agents',
    upstream.authority.certificate,
    { MODEL_KEY: 'model-key' },
  )
  writeFileSync(caFile, proxy.certificate)
})
afterAll(async () => {
  proxy.close()
  await upstream.close()
  temporary.remove()
})
beforeEach(() => {
  upstream.received.length = 0
  proxy.entries.length = 0
})

/** Requests with curl, as a program in the workspace would. */
async function curl(...argv: readonly string[]): Promise<{ status: number; body: string; failed: boolean }> {
  const args = [
    '-s',
    '-w',
    '\n%{http_code}',
    '--max-time',
    '20',
    '-x',
    `http://127.0.0.1:${proxy.port}`,
    '--cacert',
    caFile,
  ]
  try {
    const { stdout } = await promisify(execFile)('curl', [...args, ...argv])
    const at = stdout.lastIndexOf('\n')
    return { status: Number(stdout.slice(at + 1)), body: stdout.slice(0, at), failed: false }
  } catch (error) {
    const { stdout = '' } = error as { stdout?: string }
    return { status: Number(stdout.trim().split('\n').at(-1)), body: stdout, failed: true }
  }
}

describe('allowed requests', () => {
  test('get the credential of their rule, in place of the workspace’s own', async () => {
    const { status } = await curl(
      'https://api.test/repos/acme/app?q=1',
      '-H',
      'Authorization: Bearer placeholder',
    )
    expect(status).toBe(200)
    const [request] = upstream.received
    expect(request?.url).toBe('/repos/acme/app?q=1')
    expect(request?.headers.authorization).toBe(`Bearer ${SECRET}`)
    expect(request?.rawHeaders.filter((each) => each.toLowerCase() === 'authorization')).toHaveLength(1)
    expect(proxy.entries).toMatchObject([
      {
        outcome: 'allowed',
        method: 'GET',
        host: 'api.test',
        path: '/repos/acme/app',
        status: 200,
        secret: 'github',
      },
    ])
    expect(JSON.stringify(proxy.entries)).not.toContain(SECRET)
  })

  test('get basic credentials and bare headers', async () => {
    await curl('https://git.test/x.git/info/refs')
    await curl('https://model.test/v1', '-H', 'x_api_key: own', '-H', 'X-Api-Key: own')
    const [git, model] = upstream.received
    expect(git?.headers.authorization).toBe(
      `Basic ${Buffer.from(`x-access-token:${SECRET}`).toString('base64')}`,
    )
    expect(model?.headers['x-api-key']).toBe('model-key')
    expect(model?.headers['x_api_key']).toBeUndefined()
  })

  test('get a new secret without a restart', async () => {
    writeFileSync(secretFile, 'rotated')
    await curl('https://api.test/repos/acme/app')
    writeFileSync(secretFile, SECRET)
    expect(upstream.received[0]?.headers.authorization).toBe('Bearer rotated')
  })

  test('carry bodies of any size and framing', async () => {
    const body = 'x'.repeat(3_000_000)
    const file = join(temporary.path, 'body')
    writeFileSync(file, body)
    for (const more of [[], ['-H', 'Transfer-Encoding: chunked']])
      expect((await curl('https://api.test/graphql', '--data-binary', `@${file}`, ...more)).status).toBe(200)
    expect(upstream.received.map((each) => each.body.length)).toEqual([body.length, body.length])
  })

  test('reach all names below a wildcard, but not the name itself', async () => {
    expect((await curl('https://a.b.wild.test/')).status).toBe(200)
    expect((await curl('https://wild.test/')).failed).toBe(true)
    expect((await curl('https://evilwild.test/')).failed).toBe(true)
  })

  test('may have 60 KiB of headers, in both directions', async () => {
    const large = 'a'.repeat(60_000)
    upstream.server.once('request', (_request, response: ServerResponse) =>
      response.setHeader('x-large', large),
    )
    const url = 'http://plain.test/'
    const { status, body } = await curl(url, '-D', '-', '-H', `x-large: ${large}`)
    expect(status).toBe(200)
    expect(body).toContain(large)
    expect(upstream.received[0]?.headers['x-large']).toBe(large)
  })

  test('can be unencrypted where the rule has that scheme', async () => {
    expect((await curl('http://plain.test/a')).status).toBe(200)
    expect((await curl('http://api.test/repos/acme/app')).status).toBe(403)
  })

  test('can upgrade to WebSocket', async () => {
    const sockets = new WebSocketServer({ server: upstream.server })
    sockets.on('connection', (socket) => socket.on('message', (text) => socket.send(text as Buffer)))
    const secured = await openSecured(proxy, 'a.wild.test:443')
    const key = Buffer.alloc(16).toString('base64')
    const answer = await exchange(
      secured,
      `GET / HTTP/1.1\r\nHost: a.wild.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    )
    sockets.close()
    expect(answer).toMatch(/^HTTP\/1.1 101 /)
    expect(proxy.entries).toMatchObject([{ outcome: 'allowed', status: 101 }])
  })
})

describe('N4 refused requests', () => {
  const refused: readonly (readonly [string, string, readonly string[]])[] = [
    ['method', 'a method', ['-X', 'DELETE', 'https://api.test/repos/acme/app']],
    ['method', 'TRACE', ['-X', 'TRACE', 'https://model.test/']],
    ['path', 'another path', ['https://api.test/repos/other/app']],
    ['path', 'a path of another method', ['https://api.test/graphql']],
    ['path', 'a prefix of the path', ['https://api.test/repos/acme']],
    ['path', 'another case', ['https://api.test/REPOS/acme/app']],
    ['path', 'an encoded path', ['https://api.test/%72epos/acme/app']],
    ...[
      '/repos/acme/../other',
      '/repos/acme/%2e%2e/other',
      '/repos/acme/%2E./other',
      '/repos/acme/..%2fother',
      '/repos/acme/%252e%252e/other',
      '/repos/acme/.%2e%5cother',
      '/repos/acme/..\\other',
      '/repos/acme//other',
      '/repos/acme/./x',
      '/repos/acme/..;/other',
      '/repos/acme/%00',
      '/repos/acme/%zz',
      '/repos/acme/%25252525252e',
      '/repos/acme/..',
    ].map((path) => ['ambiguous_path', path, ['--path-as-is', `https://api.test${path}`]] as const),
  ]
  test.each(refused)('%s: %s', async (reason, _name, argv) => {
    const { status, body } = await curl(...argv)
    expect(status).toBe(403)
    expect(JSON.parse(body)).toMatchObject({ error: { code: 'EGRESS_REFUSED' } })
    expect(upstream.received).toEqual([])
    expect(proxy.entries).toMatchObject([{ outcome: 'refused', reason }])
  })

  test.each([
    'other.test:443',
    '127.0.0.1:443',
    '169.254.169.254:443',
    '[::1]:443',
    'api.test:22',
    'api.test:8443',
    '0x7f.1:443',
    'api.test@evil.test:443',
  ])('a tunnel to %s', async (authority) => {
    expect(await openTunnel(proxy.port, authority)).toMatch(/^HTTP\/1.1 40[03] /)
    expect(upstream.received).toEqual([])
  })

  test('names that resolve to this host, unless the rule names an upstream', async () => {
    expect((await curl(`https://localhost:${upstream.port}/`, '--noproxy', '')).status).toBe(502)
    expect((await curl(`http://localhost:${upstream.port}/`, '--noproxy', '')).status).toBe(502)
    expect(upstream.received).toEqual([])
    expect(proxy.entries).toMatchObject([{ reason: 'server' }, { reason: 'server' }])
  })

  test('without their credential when the secret cannot be read', async () => {
    const { status, body } = await curl('https://broken.test/')
    expect([status, JSON.parse(body).error.code]).toEqual([502, 'EGRESS_CREDENTIAL_UNAVAILABLE'])
    expect(upstream.received).toEqual([])
  })

  test('overrides of method, host and path, which are removed', async () => {
    const names = [
      'X-HTTP-Method-Override',
      'X_HTTP_Method_Override',
      'X-Original-URL',
      'X-Rewrite-URL',
      'X-Forwarded-Host',
      'Forwarded',
    ]
    await curl('https://api.test/repos/acme/app', ...names.flatMap((name) => ['-H', `${name}: DELETE`]))
    const sent = Object.keys(upstream.received[0]?.headers ?? {})
    expect(upstream.received).toHaveLength(1)
    expect(sent.filter((name) => /override|original|rewrite|forwarded/.test(name))).toEqual([])
  })

  const CASES: readonly (readonly [string, string])[] = [
    ['another Host', 'GET /repos/acme/app HTTP/1.1\r\nHost: model.test\r\n\r\n'],
    ['another port in Host', 'GET /repos/acme/app HTTP/1.1\r\nHost: api.test:8443\r\n\r\n'],
    ['two Hosts', 'GET /repos/acme/app HTTP/1.1\r\nHost: api.test\r\nHost: model.test\r\n\r\n'],
    ['no Host', 'GET /repos/acme/app HTTP/1.1\r\n\r\n'],
    ['an absolute target of another host', 'GET https://model.test/v1 HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['a tunnel in a tunnel', 'CONNECT model.test:443 HTTP/1.1\r\nHost: model.test:443\r\n\r\n'],
    [
      'both framings',
      'POST /graphql HTTP/1.1\r\nHost: api.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nDELETE /repos/acme/app HTTP/1.1\r\nHost: api.test\r\n\r\n',
    ],
    [
      'a Connection that removes Host',
      'GET /repos/acme/app HTTP/1.1\r\nHost: api.test\r\nConnection: host\r\n\r\n',
    ],
    ['HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a fragment', 'GET /repos/acme/app#x HTTP/1.1\r\nHost: api.test\r\n\r\n'],
  ]
  test.each(CASES)('in a tunnel: %s', async (_name, bytes) => {
    const answer = await exchange(await openSecured(proxy, 'api.test:443'), bytes)
    expect(answer).not.toMatch(/^HTTP\/1.1 2/)
    expect(upstream.received).toEqual([])
  })

  test('a handshake for another host, HTTP/2, and protocols that are not TLS', async () => {
    await expect(openSecured(proxy, 'api.test:443', { servername: 'model.test' })).rejects.toThrow(
      /closed|disconnected/,
    )
    await expect(openSecured(proxy, 'api.test:443', { ALPNProtocols: ['h2'] })).rejects.toThrow(
      /alert|closed|disconnected/,
    )
    const tunnel = await openTunnel(proxy.port, 'api.test:443')
    if (typeof tunnel === 'string') throw new Error(tunnel)
    expect(await exchange(tunnel, 'SSH-2.0-OpenSSH_9.2\r\n')).not.toContain('SSH')
    expect(proxy.entries.map(({ reason }) => reason)).toEqual(['tls', 'tls', 'tls'])
    expect(upstream.received).toEqual([])
  })

  test('pipelined requests, each by its own rule', async () => {
    const secured = await openSecured(proxy, 'api.test:443')
    const answers = await exchange(
      secured,
      ['/repos/acme/a', '/user', '/repos/acme/b']
        .map((path) => `GET ${path} HTTP/1.1\r\nHost: api.test\r\n\r\n`)
        .join(''),
    )
    expect([...answers.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, status]) => status).slice(0, 2)).toEqual([
      '200',
      '403',
    ])
    expect(upstream.received.map(({ url }) => url)).not.toContain('/user')
  })
})

test('a server whose certificate nobody vouches for is not sent the credential', async () => {
  const strict = await serveProfile(
    {
      secrets: { key: { env: 'KEY' } },
      profiles: {
        a: {
          rules: [
            { host: 'a.test', credential: { secret: 'key' }, upstream: `https://localhost:${upstream.port}` },
          ],
        },
      },
    },
    'a',
    undefined,
    { KEY: 'k' },
  )
  const answer = await exchange(
    await openSecured(strict, 'a.test:443'),
    'GET / HTTP/1.1\r\nHost: a.test\r\n\r\n',
  )
  strict.close()
  expect(answer).toMatch(/^HTTP\/1.1 502 /)
  expect(upstream.received).toEqual([])
})

test('a request that is not for a proxy gets an explanation', async () => {
  const answer = await exchange(connect(proxy.port, '127.0.0.1'), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(answer).toContain('the egress proxy accepts CONNECT and absolute http:// URLs')
})
