import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { stringify } from 'yaml'
import { isPasswordOf } from '../../../../src/content/login/password.ts'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { run } from '../../../../src/lib/process/run.ts'
import { cheapHash } from '../../../support/content/cheap-hash.ts'
import { cookieOf } from '../../../support/content/content-server.ts'
import { freePort } from '../../../support/services/free-port.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'

const PROGRAM = join(packageRoot, 'src/bin/content-server.ts')

function user(settings: Readonly<Record<string, unknown>> = {}) {
  const dir = tempDir()
  const environment = { PATH: process.env['PATH'], HOME: dir }
  const config = {
    store: { root: 'store' },
    session: { file: 'sessions.db', secure: false },
    password_hash: cheapHash('right'),
    ...settings,
  }
  writeFileSync(join(dir, 'docs.yaml'), stringify(config))
  const argv = ['-c', 'docs.yaml']
  const content = (...words: readonly string[]) =>
    run(process.execPath, [PROGRAM, ...argv, ...words], { cwd: dir, environment, timeoutMs: 25_000 })
  const start = (...words: readonly string[]) => {
    const child = spawn(process.execPath, [PROGRAM, ...argv, ...words], {
      cwd: dir,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (output += bytes.toString()))
    return { child, output: () => output, ended: once(child, 'close') }
  }
  return { dir, content, start }
}

test('hash-password reads one line and prints only the hash', async () => {
  const { start } = user()
  const { child, output, ended } = start('hash-password')
  child.stdin.end('pass wörd\nmore\n')
  expect((await ended)[0]).toBe(0)
  expect(output()).toMatch(/^\$scrypt\$ln=17,r=8,p=1\$\S+\$\S+\n$/)
  expect(await isPasswordOf('pass wörd', output().trim())).toBe(true)
  expect(await isPasswordOf('pass word', output().trim())).toBe(false)
})

test('a user publishes, serves with two processes, logs in, purges, revokes and stops', async () => {
  const port = await freePort()
  const { dir, content, start } = user({ http: { port } })
  mkdirSync(join(dir, 'site'))
  writeFileSync(join(dir, 'site/index.html'), 'x')
  const published = await content('publish', 'site', '--repo', 'guide', '--description', 'How to')
  expect([published.status, published.stderr]).toEqual([0, ''])
  expect(JSON.parse(published.stdout)).toMatchObject({ repo: 'guide', version: null })
  const { child, output, ended } = start('serve', '--workers', '2')
  await waitFor('both processes', () => output().split('content server is ready').length === 3)
  const url = `http://127.0.0.1:${port}`
  const login = await fetch(`${url}/_login`, {
    method: 'POST',
    body: new URLSearchParams({ password: 'right' }),
    redirect: 'manual',
  })
  const headers = { cookie: cookieOf(login), connection: 'close' }
  const status = async (): Promise<number> =>
    (await fetch(`${url}/repos/guide/`, { headers, redirect: 'manual' })).status
  // From either process.
  expect(await Promise.all(Array.from({ length: 8 }, status))).toEqual(Array(8).fill(200))
  writeFileSync(join(dir, 'site/index.html'), 'newer')
  const again = await content('publish', 'site', '--repo', 'guide')
  expect([again.status, again.stderr]).toEqual([0, ''])
  expect((await fetch(`${url}/_admin/cache/purge`, { method: 'POST', headers })).status).toBe(200)
  const text = async (): Promise<string> => (await fetch(`${url}/repos/guide/`, { headers })).text()
  await waitFor('the purge in both', async () =>
    (await Promise.all(Array.from({ length: 8 }, text))).every((each) => each === 'newer'),
  )
  expect(JSON.parse((await content('revoke', '')).stdout)).toEqual({ user: '', ended: 1 })
  await waitFor('the exit of both', async () =>
    (await Promise.all(Array.from({ length: 8 }, status))).every((each) => each === 302),
  )
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

test('a folder with the configuration, sessions, tokens and store of the server is published without them', async () => {
  const port = await freePort()
  const { dir, content, start } = user({
    http: { port },
    search: { dir: 'search' },
    reads: { file: 'reads.jsonl' },
    access: { rules: [{ repos: ['*'], public: true }] },
  })
  writeFileSync(join(dir, 'index.html'), '<title>hi</title>')
  writeFileSync(join(dir, 'prod.env'), 'A=1')
  const created = await content('token', 'create', 'ci', '--repo', '*')
  writeFileSync(join(dir, 'secret.json'), created.stdout)
  const { child, output, ended } = start('serve')
  await waitFor('the server', () => output().includes('content server is ready'))
  for (const expected of [2, 0]) {
    const { status, stdout, stderr } = await content('publish', '.', '--repo', 'self')
    expect(status).toBe(0)
    const { uploaded, leftOut, likelySecrets } = JSON.parse(stdout) as {
      readonly uploaded: number
      readonly leftOut: readonly { readonly path: string; readonly use: string }[]
      readonly likelySecrets: readonly string[]
    }
    expect([uploaded, likelySecrets]).toEqual([expected, ['prod.env']])
    expect(leftOut).toEqual(
      expect.arrayContaining([
        { path: 'docs.yaml', use: 'configuration' },
        { path: 'secret.json', use: 'service token' },
        { path: 'sessions.db', use: 'session.file' },
        { path: 'sessions.db-wal', use: 'session.file' },
        { path: 'store', use: 'store.root' },
      ]),
    )
    expect(stderr).toContain(
      '"docs.yaml" is left out, because the server uses it (configuration); move it out of the folder\n',
    )
    expect(stderr).toContain('"prod.env" may contain secrets, and all readers of "self"')
  }
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${port}/repos/self/${path}`, { headers: { connection: 'close' } })).status
  expect(await statusOf('index.html')).toBe(200)
  for (const path of [
    'docs.yaml',
    'secret.json',
    'sessions.db',
    'sessions.db-wal',
    'store/repos/self/_files.json',
  ])
    expect([path, await statusOf(path)]).toEqual([path, 404])
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

test('O9 a user creates a token, two processes accept it, and a revocation reaches both', async () => {
  const port = await freePort()
  const { dir, content, start } = user({ http: { port }, reads: { file: 'reads.jsonl' } })
  mkdirSync(join(dir, 'store/repos/guide'), { recursive: true })
  writeFileSync(join(dir, 'store/repos/guide/index.html'), 'x')
  const { output } = start('serve', '--workers', '2')
  await waitFor('both processes', () => output().split('content server is ready').length === 3)
  const created = await content('token', 'create', 'ci', '--repo', 'guide', 'api-*', '--expires', '1h')
  expect([created.status, created.stderr]).toEqual([0, ''])
  const { token, ...shown } = JSON.parse(created.stdout) as Record<string, unknown>
  expect(shown).toMatchObject({ name: 'ci', repos: ['guide', 'api-*'], expired: false })
  const headers = { authorization: `Bearer ${String(token)}`, connection: 'close' }
  const statuses = (): Promise<readonly number[]> =>
    Promise.all(
      Array.from({ length: 8 }, async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/repos/guide/`, { headers, redirect: 'manual' })
        return answer.status
      }),
    )
  expect(await statuses()).toEqual(Array(8).fill(200))
  const again = await content('token', 'create', 'ci', '--repo', 'guide')
  expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('already exists')])
  const listed = await content('token', 'list')
  expect(JSON.parse(listed.stdout)).toEqual([shown])
  expect((await content('token', 'list', '--table')).stdout).toMatch(
    /^NAME +REPOSITORIES .*\nci +guide api-\* /,
  )
  expect(JSON.parse((await content('token', 'revoke', 'ci')).stdout)).toEqual({ name: 'ci', revoked: true })
  await waitFor('the refusal of both', async () => (await statuses()).every((each) => each === 401))
  const none = await content('token', 'revoke', 'ci')
  expect([none.status, none.stderr]).toEqual([1, expect.stringContaining('not found')])
  expect(output()).not.toContain(String(token).slice(4))
  const reads = async (...words: readonly string[]): Promise<readonly string[]> => {
    const { status, stdout } = await content('reads', '--repo', 'guide', ...words)
    expect(status).toBe(0)
    return stdout.split('\n').filter((line) => line !== '')
  }
  await waitFor('the log of both', async () => (await reads()).length >= 8)
  const [line = ''] = await reads('--token', 'ci', '--since', '1h')
  expect(JSON.parse(line)).toMatchObject({ token: 'ci', repo: 'guide', path: '/', status: 200 })
  expect(await reads('--since', '2100-01-01T00:00:00Z')).toEqual([])
  expect(await reads('--user', 'ci')).toEqual([])
  expect((await reads('--table'))[0]).toMatch(/^\S+ {2}token ci {2}GET guide\/ {2}200$/)
})

test('a download completes when one of two round-robin replicas is killed', async () => {
  const { dir, start } = user({ cache: { max_object_bytes: '1MiB' } })
  const bytes = randomBytes(30_000_000)
  mkdirSync(join(dir, 'store/repos/a'), { recursive: true })
  writeFileSync(join(dir, 'store/repos/a/big.bin'), bytes)
  const ports = [await freePort(), await freePort()]
  const replicas = ports.map((port) => start('serve', '--port', String(port)))
  for (const { output } of replicas) await waitFor('a replica', () => output().includes('is ready'))
  const url = `http://127.0.0.1:${await roundRobin(ports)}`
  const body = new URLSearchParams({ password: 'right' })
  const headers = {
    cookie: cookieOf(await fetch(`${url}/_login`, { method: 'POST', body, redirect: 'manual' })),
    connection: 'close',
  }
  const had: Uint8Array[] = []
  const size = (): number => had.reduce((sum, { length }) => sum + length, 0)
  let etag = ''
  const download = async (onPart: () => void): Promise<void> => {
    const range = size() === 0 ? {} : { range: `bytes=${size()}-`, 'if-range': etag }
    const answer = await fetch(`${url}/repos/a/big.bin`, { headers: { ...headers, ...range } })
    expect(answer.status).toBe(size() === 0 ? 200 : 206)
    etag = answer.headers.get('etag') ?? ''
    for await (const part of answer.body ?? []) {
      had.push(part as Uint8Array)
      onPart()
    }
  }
  // The login used the first connection, so this one is the second replica's.
  await expect(download(() => size() > 2_000_000 && replicas[1]?.child.kill('SIGKILL'))).rejects.toThrow(
    'terminated',
  )
  expect(size()).toBeLessThan(bytes.length)
  await download(() => undefined)
  expect(Buffer.concat(had).equals(bytes)).toBe(true)
})

/** Distributes connections to servers in turn, skipping one that does not accept. */
async function roundRobin(ports: readonly number[]): Promise<number> {
  let turn = 0
  const server = createServer((socket) => {
    const lead = (tries: number): void => {
      const upstream = connect(ports[turn++ % ports.length] ?? 0, '127.0.0.1')
      upstream.once('connect', () => {
        upstream.once('close', () => socket.destroy())
        socket.pipe(upstream).pipe(socket)
      })
      upstream.on('error', () => (upstream.connecting || tries === 0 ? socket.destroy() : lead(tries - 1)))
      socket.once('close', () => upstream.destroy())
    }
    socket.on('error', () => undefined)
    lead(ports.length)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as { port: number }).port
}

test('config check reports errors, and config show hides secrets', async () => {
  const right = user()
  expect(JSON.parse((await right.content('config', 'check')).stdout)).toMatchObject({ ok: true, store: 'fs' })
  expect((await right.content('config', 'show')).stdout).not.toContain('scrypt')
  for (const [settings, sentence] of [
    [{ password_hash: 'plain' }, 'is not a password hash'],
    [{ http: { prot: 1 } }, 'did you mean "http.port"?'],
    [{ store: { type: 's3' } }, '"store.bucket" is required'],
    [{ header_auth: { header: 'X-User' } }, '"http.trusted_proxies"'],
    [{ users: [{ name: 'a', password_hash: cheapHash('x') }] }, 'are mutually exclusive'],
    [{ session: { store: 'mysql://x' } }, 'redis://'],
  ] as const) {
    const { status, stderr } = await user(settings).content('config', 'check')
    expect([status, stderr]).toEqual([1, expect.stringContaining(sentence)])
  }
})

test('F34 a server that cannot listen, or has no way to log in, reports the error and exits with 1', async () => {
  const port = await freePort()
  const { content, start } = user({ http: { port } })
  const { output } = start('serve')
  await waitFor('the first', () => output().includes('is ready'))
  const second = await content('serve')
  expect([second.status, second.stderr]).toEqual([
    1,
    expect.stringContaining(`cannot listen on 127.0.0.1 port ${port}`),
  ])
  const nobody = await user({ password_hash: undefined }).content('serve', '--port', '0')
  expect([nobody.status, nobody.stderr]).toEqual([1, expect.stringContaining('nobody could log in')])
})
