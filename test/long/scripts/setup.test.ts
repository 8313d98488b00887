import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const checkout = process.cwd()
/** The sources of the workspace server's page. */
const PAGE = 'src/workspace/faces/web/page'
/** The folders of other pages' scripts. */
const PAGE_SCRIPTS = [
  'src/analyzer/query/graph/page',
  'src/content/faces/http/page',
  'src/supervisor/faces/web/page',
]
let folder = ''
const atEnd: (() => unknown)[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'setup-test-'))
  for (const name of [
    'package.json',
    'package-lock.json',
    'scripts',
    'tsconfig.json',
    'tsconfig.page.json',
    'tsconfig.build.json',
    'native/compat',
  ]) {
    cpSync(join(checkout, name), join(folder, name), { recursive: true })
  }
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'src/one.ts'), 'export const one: number = 1\n')
  // A page of one line as well.
  mkdirSync(join(folder, PAGE), { recursive: true })
  cpSync(join(checkout, PAGE, 'vite.config.ts'), join(folder, PAGE, 'vite.config.ts'))
  writeFileSync(join(folder, PAGE, 'index.html'), '<!doctype html><title>page</title>\n')
  for (const page of PAGE_SCRIPTS) {
    mkdirSync(join(folder, page), { recursive: true })
    writeFileSync(join(folder, page, 'page.ts'), 'export {}\n')
  }
  // For guests programs of one line: theirs need the sources.
  for (const name of ['init', 'units', 'manifests'])
    cpSync(join(checkout, 'guest', name), join(folder, 'guest', name), { recursive: true })
  for (const name of ['agent', 'cloud-credentials']) {
    mkdirSync(join(folder, 'guest', name))
    writeFileSync(join(folder, 'guest', name, 'main.ts'), 'export {}\n')
  }
})

afterEach(async () => {
  for (const end of atEnd.splice(0)) await end()
  rmSync(folder, { recursive: true })
})

/** @returns what the script said, and how long it took; no engine is in reach unless `env` brings one */
async function run(script: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const begunMs = performance.now()
  const { DOCKER_HOST: _, ...rest } = process.env
  const child = spawn(join(folder, script), args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...rest, SETUP_ENGINE_SOCKETS: '', ...env },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (said += text))
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, said, tookMs: performance.now() - begunMs }
}

/** The dependencies of the checkout itself, which set-up has installed before any test runs. */
function borrowDependencies() {
  const [from, to] = [join(checkout, 'node_modules'), join(folder, 'node_modules')]
  mkdirSync(to)
  // One link each: where they are out of date, set-up runs `npm ci`, which would empty the checkout's folder through a link to it.
  for (const name of readdirSync(from)) symlinkSync(join(from, name), join(to, name))
}

/** Listens like an engine on a new socket. */
async function listen(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  const path = join(folder, 'engine.sock')
  await once(server.listen(path), 'listening')
  atEnd.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return path
}

function hashOfTree(): string {
  const hash = createHash('sha256')
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const name of names.toSorted((a, b) => a.localeCompare(b))) {
    const stat = statSync(join(folder, name))
    hash.update(`${name} ${stat.mode} ${stat.mtimeMs}\n`)
    if (stat.isFile()) hash.update(readFileSync(join(folder, name)))
  }
  return hash.digest('hex')
}

test('--check reports all that is missing, by name, and changes nothing', async () => {
  const before = hashOfTree()
  const { status, said } = await run('scripts/setup', ['--check'], {
    DOCKER_HOST: 'unix:///nonexistent/engine.sock',
  })
  expect(said.trim().split('\n')).toEqual([
    'setup: node: ok',
    'setup: missing: npm dependencies are missing or out of date',
    'setup: addon: ok',
    'setup: missing: dist is missing or out of date',
    'setup: link: ok',
    'setup: missing: container engine: no response from DOCKER_HOST=unix:///nonexistent/engine.sock',
    'setup: the base image cannot be checked without an engine',
  ])
  expect(status).toBe(1)
  expect(hashOfTree()).toBe(before)
})

test('--check reports an engine that is on none of the sockets', async () => {
  const { said } = await run('scripts/setup', ['--check'], {
    SETUP_ENGINE_SOCKETS: '/nonexistent/a:/nonexistent/b',
  })
  expect(said).toContain('setup: missing: container engine: neither Docker nor Podman responds\n')
})

test('an unknown argument is refused', async () => {
  expect(await run('scripts/setup', ['--chekc'])).toMatchObject({ status: 2 })
})

test('setup continues without the unreachable engine of DOCKER_HOST and installs none', async () => {
  borrowDependencies()
  const { status, said } = await run('scripts/setup', [], { DOCKER_HOST: 'unix:///nonexistent/engine.sock' })
  expect(said).toContain('no response from DOCKER_HOST=unix:///nonexistent/engine.sock: start that engine')
  expect(said).toContain('setup: ready, except for the problems above\n')
  expect(status).toBe(0)
  expect(existsSync(join(folder, 'dist/src/one.js'))).toBe(true)
})

test('setup ignores a socket that accepts and never responds', async () => {
  const socket = await listen(() => undefined)
  const { said } = await run('scripts/setup', ['--check'], { SETUP_ENGINE_SOCKETS: socket })
  expect(said).toContain('neither Docker nor Podman responds')
})

test('a missing base image is reported when an engine answers', async () => {
  const socket = await listen((request, reply) => reply.writeHead(request.url === '/_ping' ? 200 : 404).end())
  const { said } = await run('scripts/setup', ['--check'], { SETUP_ENGINE_SOCKETS: socket })
  expect(said).toContain('setup: engine: ok\nsetup: missing: the base image workspace-base:1 is missing\n')
})

test('a second run is quick and finds nothing to do', async () => {
  borrowDependencies()
  const env = { SETUP_ENGINE_SOCKETS: await listen((_request, reply) => reply.end('{}')) }
  const first = await run('scripts/setup', [], env)
  expect(first.said).toBe('setup: compiling TypeScript into dist\nsetup: ready\n')
  const second = await run('scripts/setup', [], env)
  expect(second).toMatchObject({ status: 0, said: 'setup: nothing to do\n' })
  expect(second.tookMs).toBeLessThan(first.tookMs)
  expect(await run('scripts/setup', ['--check'], env)).toMatchObject({ status: 0 })
})

test('dist follows the sources, and a failed build leaves the last good one', async () => {
  borrowDependencies()
  const env = { SETUP_ENGINE_SOCKETS: await listen((_request, reply) => reply.end('{}')) }
  writeFileSync(join(folder, 'src/two.ts'), 'export const two: number = 2\n')
  writeFileSync(join(folder, 'src/page.html'), '<p>')
  await run('scripts/setup', [], env)
  expect(globSync('dist/src/*.{js,html}', { cwd: folder })).toHaveLength(3)

  rmSync(join(folder, 'src/two.ts'))
  await run('scripts/setup', [], env)
  expect(globSync('dist/src/*.{js,html}', { cwd: folder })).toHaveLength(2)

  writeFileSync(join(folder, 'src/one.ts'), 'export const one: string = 1\n')
  const broken = await run('scripts/setup', [], env)
  expect(broken).toMatchObject({ status: 1 })
  expect(broken.said).toContain('src/one.ts(1,14): error TS2322')
  expect(existsSync(join(folder, 'dist/src/one.js'))).toBe(true)
  expect((await run('scripts/setup', ['--check'], env)).said).toContain(
    'missing: dist is missing or out of date',
  )
})

test('a built program is linked where npx looks, and again after npm has emptied that folder', async () => {
  const bin = join(folder, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  for (const name of ['.bin/tsc', '.bin/vite', '@types', 'rolldown', 'vite', '.setup-stamp'])
    symlinkSync(realpathSync(join(checkout, 'node_modules', name)), join(folder, 'node_modules', name))
  mkdirSync(join(folder, 'src/bin'))
  writeFileSync(join(folder, 'src/bin/hello.ts'), "#!/usr/bin/env node\nconsole.log('hello')\n")
  const env = { SETUP_ENGINE_SOCKETS: await listen((_request, reply) => reply.end('{}')) }

  await run('scripts/setup', [], env)
  expect((await run('node_modules/.bin/hello')).said).toBe('hello\n')

  rmSync(join(bin, 'hello'))
  expect((await run('scripts/setup', ['--check'], env)).said).toContain('missing: npx does not find hello\n')
  expect((await run('scripts/setup', [], env)).said).toBe('setup: ready\n')
  expect((await run('node_modules/.bin/hello')).said).toBe('hello\n')
})

test('two set-ups at once take turns, and one that died holds nobody up', async () => {
  borrowDependencies()
  const env = { SETUP_ENGINE_SOCKETS: await listen((_request, reply) => reply.end('{}')) }
  const both = await Promise.all([run('scripts/setup', [], env), run('scripts/setup', [], env)])
  expect(both.map(({ status }) => status)).toEqual([0, 0])
  const said = both.map((one) => one.said).join('')
  expect(said.match(/compiling TypeScript/g)).toHaveLength(1)

  // No system gives a process this number.
  symlinkSync('99999999', join(folder, '.node/setup-lock'))
  writeFileSync(join(folder, 'src/two.ts'), 'export const two: number = 2\n')
  expect((await run('scripts/setup', [], env)).said).toContain('setup: ready')
  expect(existsSync(join(folder, '.node/setup-lock'))).toBe(false)
})

/** A program that prints one line, where on-node and set-up look for Node. */
function placeNode(path: string, line: string) {
  mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, path, 'node'), `#!/bin/sh\necho '${line}'\n`)
  chmodSync(join(folder, path, 'node'), 0o755)
}

test("on-node prefers the Node in .node to the machine's", async () => {
  placeNode('.node/node_modules/node/bin', 'the brought one')
  expect((await run('scripts/on-node', ['node', '--version'])).said).toBe('the brought one\n')
})

test('--check names a Node older than package.json requires and stops', async () => {
  placeNode('old', '18.19.0 108')
  const { status, said } = await run('scripts/setup', ['--check'], {
    PATH: `${join(folder, 'old')}:${process.env['PATH']}`,
  })
  expect(said).toBe('setup: missing: Node.js is 18.19.0, but >= 22.12 is needed\n')
  expect(status).toBe(1)
})
