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
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const checkout = process.cwd()
/** Sources of the pages that a server serves at its root. */
const PAGES = ['src/workspace/faces/web/page', 'src/supervisor/faces/web/page']
/** Scripts of other pages. */
const PAGE_SCRIPTS = [
  ...readFileSync(join(checkout, 'scripts/pages.mjs'), 'utf8').matchAll(/source: '(.*)'/g),
].map(([, source = '']) => source)
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
    'vite.page.config.ts',
    'native/compat',
  ]) {
    cpSync(join(checkout, name), join(folder, name), { recursive: true })
  }
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'src/one.ts'), 'export const one: number = 1\n')
  // Pages of one line too.
  for (const page of PAGES) {
    mkdirSync(join(folder, page), { recursive: true })
    writeFileSync(join(folder, page, 'index.html'), '<!doctype html><title>page</title>\n')
  }
  for (const script of PAGE_SCRIPTS) {
    mkdirSync(join(folder, dirname(script)), { recursive: true })
    writeFileSync(join(folder, script), 'export {}\n')
  }
  // Guest programs of one line, because the real ones need the sources.
  for (const name of ['init', 'units', 'manifests'])
    cpSync(join(checkout, 'guest', name), join(folder, 'guest', name), { recursive: true })
  for (const name of ['agent', 'cloud-credentials']) {
    mkdirSync(join(folder, 'guest', name))
    for (const program of ['main.ts', 'pod.ts'])
      writeFileSync(join(folder, 'guest', name, program), 'export {}\n')
  }
})

afterEach(async () => {
  for (const end of atEnd.splice(0)) await end()
  rmSync(folder, { recursive: true })
})

/** @returns the script's output and duration; no engine is reachable unless `env` provides one */
async function run(script: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const begunMs = performance.now()
  const { DOCKER_HOST: _, ...rest } = process.env
  const child = spawn(join(folder, script), args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...rest, SETUP_ENGINE_SOCKETS: '', ...env },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text))
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, output, tookMs: performance.now() - begunMs }
}

/** Links the dependencies of the checkout, which set-up has installed before any test runs. */
function borrowDependencies() {
  const [from, to] = [join(checkout, 'node_modules'), join(folder, 'node_modules')]
  mkdirSync(to)
  // A link per package: if they are outdated, set-up runs `npm ci`, which through a single link would empty the
  // checkout's folder.
  for (const name of readdirSync(from)) symlinkSync(join(from, name), join(to, name))
}

/** Starts a fake engine on a separate socket. */
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

test('--check reports everything that is missing, by name, and changes nothing', async () => {
  const before = hashOfTree()
  const { status, output } = await run('scripts/setup', ['--check'], {
    DOCKER_HOST: 'unix:///nonexistent/engine.sock',
  })
  expect(output.trim().split('\n')).toEqual([
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

test('--check reports that no socket has an engine', async () => {
  const { output } = await run('scripts/setup', ['--check'], {
    SETUP_ENGINE_SOCKETS: '/nonexistent/a:/nonexistent/b',
  })
  expect(output).toContain('setup: missing: container engine: neither Docker nor Podman responds\n')
})

test('an unknown argument is refused', async () => {
  expect(await run('scripts/setup', ['--chekc'])).toMatchObject({ status: 2 })
})

test('set-up continues without the engine in DOCKER_HOST if it does not respond, and installs none', async () => {
  borrowDependencies()
  const { status, output } = await run('scripts/setup', [], {
    DOCKER_HOST: 'unix:///nonexistent/engine.sock',
  })
  expect(output).toContain('no response from DOCKER_HOST=unix:///nonexistent/engine.sock: start that engine')
  expect(output).toContain('setup: ready, except for the problems above\n')
  expect(status).toBe(0)
  expect(existsSync(join(folder, 'dist/src/one.js'))).toBe(true)
})

test('a socket that accepts but never responds does not count as an engine', async () => {
  const socket = await listen(() => undefined)
  const { output } = await run('scripts/setup', ['--check'], { SETUP_ENGINE_SOCKETS: socket })
  expect(output).toContain('neither Docker nor Podman responds')
})

test('a missing base image is reported when an engine responds', async () => {
  const socket = await listen((request, reply) => reply.writeHead(request.url === '/_ping' ? 200 : 404).end())
  const { output } = await run('scripts/setup', ['--check'], { SETUP_ENGINE_SOCKETS: socket })
  expect(output).toContain('setup: engine: ok\nsetup: missing: the base image workspace-base:1 is missing\n')
})

test('a second run finds nothing to do', async () => {
  borrowDependencies()
  const env = { SETUP_ENGINE_SOCKETS: await listen((_request, reply) => reply.end('{}')) }
  const first = await run('scripts/setup', [], env)
  expect(first.output).toBe('setup: compiling TypeScript into dist\nsetup: ready\n')
  const second = await run('scripts/setup', [], env)
  expect(second).toMatchObject({ status: 0, output: 'setup: nothing to do\n' })
  expect(await run('scripts/setup', ['--check'], env)).toMatchObject({ status: 0 })
})

test('dist follows the sources, and a failed build keeps the last good one', async () => {
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
  expect(broken.output).toContain('src/one.ts(1,14): error TS2322')
  expect(existsSync(join(folder, 'dist/src/one.js'))).toBe(true)
  expect((await run('scripts/setup', ['--check'], env)).output).toContain(
    'missing: dist is missing or out of date',
  )
})

test('a built program is linked where npx looks, and linked again after npm has emptied that folder', async () => {
  const bin = join(folder, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  for (const name of ['.bin/tsc', '.bin/vite', '@types', 'rolldown', 'vite', '.setup-stamp'])
    symlinkSync(realpathSync(join(checkout, 'node_modules', name)), join(folder, 'node_modules', name))
  mkdirSync(join(folder, 'src/bin'))
  writeFileSync(join(folder, 'src/bin/hello.ts'), "#!/usr/bin/env node\nconsole.log('hello')\n")
  const env = { SETUP_ENGINE_SOCKETS: await listen((_request, reply) => reply.end('{}')) }

  await run('scripts/setup', [], env)
  expect((await run('node_modules/.bin/hello')).output).toBe('hello\n')

  rmSync(join(bin, 'hello'))
  expect((await run('scripts/setup', ['--check'], env)).output).toContain(
    'missing: npx does not find hello\n',
  )
  expect((await run('scripts/setup', [], env)).output).toBe('setup: ready\n')
  expect((await run('node_modules/.bin/hello')).output).toBe('hello\n')
})

test('parallel set-ups take turns, and a dead one blocks nobody', async () => {
  borrowDependencies()
  const env = { SETUP_ENGINE_SOCKETS: await listen((_request, reply) => reply.end('{}')) }
  const both = await Promise.all([run('scripts/setup', [], env), run('scripts/setup', [], env)])
  expect(both.map(({ status }) => status)).toEqual([0, 0])
  const output = both.map((one) => one.output).join('')
  expect(output.match(/compiling TypeScript/g)).toHaveLength(1)

  // No system assigns this process id.
  symlinkSync('99999999', join(folder, '.node/setup-lock'))
  writeFileSync(join(folder, 'src/two.ts'), 'export const two: number = 2\n')
  expect((await run('scripts/setup', [], env)).output).toContain('setup: ready')
  expect(existsSync(join(folder, '.node/setup-lock'))).toBe(false)
})

/** Creates a program that prints one line where on-node and set-up look for Node.js. */
function placeNode(path: string, line: string) {
  mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, path, 'node'), `#!/bin/sh\necho '${line}'\n`)
  chmodSync(join(folder, path, 'node'), 0o755)
}

test("on-node prefers the Node in .node to the machine's", async () => {
  placeNode('.node/node_modules/node/bin', 'the downloaded one')
  expect((await run('scripts/on-node', ['node', '--version'])).output).toBe('the downloaded one\n')
})

test('--check reports a Node.js older than "engines" allows, and stops there', async () => {
  placeNode('old', '18.19.0 108')
  const { status, output } = await run('scripts/setup', ['--check'], {
    PATH: `${join(folder, 'old')}:${process.env['PATH']}`,
  })
  expect(output).toBe('setup: missing: Node.js is 18.19.0, but >= 22.12 is needed\n')
  expect(status).toBe(1)
})
