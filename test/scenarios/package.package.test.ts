import { execFileSync, spawn } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { toolEnvironment } from '../../src/lib/process/tool-environment.ts'
import { installPackage, ran } from '../support/package/installed.ts'
import { freePort } from '../support/services/free-port.ts'
import { makeTempDir } from '../support/temp-dir.ts'

const { path: folder, remove } = makeTempDir()
const archive = inject('archive')
afterAll(remove)

test('the package contains programs and documentation, but no tests', async () => {
  const files = (await ran(['tar', 'tzf', archive])).trimEnd().split('\n')
  const has = (file: string): boolean => files.includes(`package/${file}`)
  for (const name of ['workspace', 'supervisor', 'content-server', 'analyzer']) {
    expect(has(`dist/src/bin/${name}.js`)).toBe(true)
    expect(has(`docs/${name}/index.md`)).toBe(true)
    expect(has(`dist/man/${name}.1`)).toBe(true)
  }
  for (const program of ['workspace', 'supervisor'])
    expect(has(`dist/src/${program}/faces/web/built/index.html`), program).toBe(true)
  const target = `${process.platform}-${process.arch}`
  for (const name of ['workspace_native.node', 'workspace-run', 'workspace-start', 'workspace-init'])
    expect(has(`prebuilds/${target}/${name}`)).toBe(true)
  expect(files.filter((file) => /(^|\/)(test|fuzz|bench)\/|\.test\./.test(file))).toEqual([])
})

test('the package lists its dependencies, and nothing else, in CycloneDX', async () => {
  const sbom = JSON.parse(await ran(['tar', 'xzOf', archive, 'package/sbom.cdx.json'])) as {
    readonly bomFormat: string
    readonly components: readonly { readonly name: string; readonly version: string; readonly purl: string }[]
  }
  expect(sbom.bomFormat).toBe('CycloneDX')
  const { packages } = JSON.parse(readFileSync(join(packageRoot, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version: string; readonly dev?: boolean }>>
  }
  const locked = Object.entries(packages).flatMap(([path, { version, dev }]) =>
    path === '' || dev === true ? [] : [`${path.replace(/^.*node_modules\//, '')}@${version}`],
  )
  const listed = sbom.components.map(({ name, version }) => `${name}@${version}`)
  expect([...new Set(listed)].toSorted()).toEqual([...new Set(locked)].toSorted())
  expect(sbom.components.every(({ purl }) => purl.startsWith('pkg:npm/'))).toBe(true)
})

describe('installed on Node 22', () => {
  testInstalled('22')
})
describe('installed on Node 24', { tags: ['long'] }, () => {
  testInstalled('24')
})
describe('installed on Node 26', { tags: ['long'] }, () => {
  testInstalled('26')
})

/** Tests the package in an empty folder with its own home and Node, as a user without a compiler. */
function testInstalled(version: string): void {
  const home = join(folder, version)
  const bin = join(home, 'node_modules/.bin')
  const environment = { HOME: home, PATH: `${bin}:/usr/bin:/bin`, XDG_RUNTIME_DIR: home }
  const here = { cwd: home, environment }

  /** Returns one check of doctor. Missing prerequisites of the machine do not matter here. */
  async function doctorOn(name: string): Promise<{ found: string; remedy: string } | undefined> {
    const { stdout } = await run(join(bin, 'workspace'), ['doctor', '--json'], { ...here, timeoutMs: 60_000 })
    const { checks } = JSON.parse(stdout) as { checks: { name: string; found: string; remedy: string }[] }
    return checks.find((check) => check.name === name)
  }

  beforeAll(() => installPackage(home, archive, version), 600_000)

  test('every program starts on that Node with the native addon', async () => {
    expect(await ran(['node', '--version'], here)).toMatch(new RegExp(`^v${version}\\.`))
    for (const name of ['workspace', 'supervisor', 'content-server', 'analyzer'])
      expect(await ran([name, '--version'], here)).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(await doctorOn('native addon')).toMatchObject({ found: 'loaded' })
  })

  test('doctor explains how to get compiled SSH ciphers and rejects ones that would abort the server', async () => {
    const compiling = {
      cwd: home,
      environment: {
        ...toolEnvironment(),
        ...here.environment,
        npm_config_nodedir: join(home, 'node_modules/node'),
      },
    }
    const absent = await doctorOn('ssh2 native crypto')
    expect(absent?.found).toBe('not available, using slower JavaScript')
    if (version === '26') {
      expect(absent?.remedy).toBe("run on Node.js 24: ssh2's ciphers cannot be compiled for a newer one")
      return
    }
    await ran(['npm', 'rebuild', 'ssh2'], compiling)
    if (version === '24')
      expect((await doctorOn('ssh2 native crypto'))?.found).toContain('would crash the server')
    const [command = ''] = absent?.remedy.split(', with') ?? []
    await ran(['sh', '-c', command], compiling)
    expect(await doctorOn('ssh2 native crypto')).toMatchObject({ found: 'loaded', remedy: '' })
  })

  test('the supervisor runs a Procfile', async () => {
    const project = join(home, 'project')
    mkdirSync(project)
    writeFileSync(join(project, 'Procfile'), 'web: echo hello; exec sleep 1000\n')
    const inside = {
      cwd: project,
      environment: { ...environment, SUPERVISOR_API__PORT: String(await freePort()) },
    }
    await ran(['supervisor', 'up', '-d'], inside)
    try {
      expect(await ran(['supervisor', 'ps', '--table'], inside)).toMatch(/web\s+running/)
      expect(await ran(['supervisor', 'logs', '--table'], inside)).toContain('hello')
    } finally {
      await ran(['supervisor', 'down'], inside)
    }
  })

  test('the content server publishes a folder', async () => {
    const site = join(home, 'site')
    mkdirSync(site)
    writeFileSync(join(site, 'index.html'), '<!doctype html><title>Guide</title><p>words</p>')
    await ran(['content-server', 'publish', site, '--repo', 'guide'], here)
    const root = join(home, '.local/share/content-server')
    const [manifest = ''] = globSync('**/guide/_files.json', { cwd: root })
    expect(readFileSync(join(root, manifest), 'utf8')).toContain('"path":"index.html"')
    const input = 'a long enough password\n'
    const hash = execFileSync(join(bin, 'content-server'), ['hash-password'], {
      cwd: home,
      env: environment,
      input,
    })
    expect(hash.toString()).toMatch(/^\$scrypt\$/)
  })

  test('the analyzer answers questions', async () => {
    const project = join(home, 'java')
    mkdirSync(join(project, 'target/classes'), { recursive: true })
    writeFileSync(join(project, 'pom.xml'), '<project/>')
    writeFileSync(join(project, 'Demo.java'), 'class Demo implements Runnable { public void run() {} }')
    await ran(['javac', '-d', 'target/classes', 'Demo.java'], { cwd: project })
    await ran(['analyzer', 'start', '-p', project], here)
    try {
      const question = ['classes', 'list', '--implements', 'java.lang.Runnable', '-p', project, '--table']
      expect(await ran(['analyzer', ...question], here)).toContain('Demo')
    } finally {
      await ran(['analyzer', 'stop', '-p', project], here)
    }
  })

  test('the workspace server starts and responds', async () => {
    const [http, ssh] = [await freePort(), await freePort()]
    const settings = {
      WORKSPACE_HTTP__PORT: String(http),
      WORKSPACE_SSH__PORT: String(ssh),
      WORKSPACE_STATE_DIR: join(home, 'state'),
    }
    const env = { ...environment, ...settings, WORKSPACE_URL: `http://127.0.0.1:${http}` }
    const server = spawn(join(bin, 'workspace'), ['serve'], {
      cwd: home,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void server.kill('SIGKILL'))
    const ended = new Promise((resolve) => server.once('exit', resolve))
    await new Promise<void>((resolve, reject) => {
      let said = ''
      for (const stream of [server.stdout, server.stderr])
        stream.on('data', (bytes: Buffer) => {
          said += bytes.toString()
          if (said.includes('workspace server is ready')) resolve()
        })
      server.once('exit', () => reject(new Error(said)))
    })
    const list = await ran(['workspace', 'list', '--json'], { cwd: home, environment: env })
    expect(JSON.parse(list)).toHaveProperty('workspaces')
    expect(await (await fetch(`http://127.0.0.1:${http}/`)).text()).toContain('<!doctype html>')
    server.kill('SIGTERM')
    expect(await ended).toBe(0)
  })
}
