import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../../../src/lib/process/package.ts'
import { dockerBackend } from '../../../../support/engine/docker.ts'
import { e2bForNode, e2bForPython } from '../../../../support/foreign/clients.ts'
import { playOverTls } from '../../../../support/foreign/e2b-over-tls.ts'
import { makeTempDir, tempDir } from '../../../../support/temp-dir.ts'
import { startWorkspaceServer, type TestServer } from '../../../../support/workspace/server/test-server.ts'

const TOKEN = 'the-token-of-this-test'
const fixture = (file: string): string =>
  readFileSync(join(packageRoot, 'test/fixtures/foreign', file), 'utf8')
const page = readFileSync(join(packageRoot, 'docs/workspace/e2b.md'), 'utf8')
const node = e2bForNode()
const python = e2bForPython()

const { path: folder, remove } = makeTempDir()

let server: TestServer
beforeAll(async () => {
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, TOKEN)
  server = await startWorkspaceServer({
    backends: () => [dockerBackend()],
    settings: { e2b: { enabled: true }, http: { token_file: tokenFile } },
  })
})
afterAll(async () => {
  await server.stop()
  remove()
})

/** The variables that the page names. */
const environment = (key = TOKEN) => ({
  PATH: process.env['PATH'],
  HOME: tempDir(),
  E2B_API_KEY: key,
  E2B_API_URL: `${server.url}/e2b`,
  E2B_SANDBOX_URL: `${server.url}/e2b`,
})

describe(`E2B for JavaScript ${node.version}`, () => {
  test('every supported call works', async () => {
    const port = await listenInside()
    const { status, signal, stdout, stderr } = await node.run(
      fixture('e2b/client.mjs'),
      [String(port)],
      environment(),
    )
    expect({ status, signal }, stderr).toEqual({ status: 0, signal: null })
    expect(JSON.parse(stdout)).toEqual({
      running: true,
      info: [true, 'base', { team: 'a b' }, 'running'],
      timeout: true,
      listed: [true, 0],
      connected: true,
      unsupported: 'SandboxError: 400: volumeMounts is not supported by this server; omit it',
      template: 'SandboxError: 404: template "missing" does not exist; the server has no templates',
      run: [
        { exitCode: 0, stdout: 'bar x y\n/tmp\n', stderr: 'é\n' },
        { out: 'bar x y\n/tmp\n', err: 'é\n' },
      ],
      user: '0\n',
      exit: 'CommandExitError: exit status 3',
      large: 3_000_000,
      late: 'TimeoutError',
      ended: 0,
      list: [[true, '/bin/bash', ['-l', '-c']]],
      stdin: ['got one\ngot two\nend\n', 'got one\ngot two\nend\n'],
      kill: [true, 'CommandExitError', false],
      disconnected: 'done\n',
      write: [{ name: 'a.txt', type: 'file', path: '/workspace/dir/a.txt' }, 'hällo'],
      bytes: [0, 'c'],
      stream: 0,
      gzip: 1_000,
      empty: '',
      exists: [true, false],
      makeDir: [true, false],
      rename: '/workspace/moved/c.txt',
      files: [
        '/workspace/after 5',
        '/workspace/b.bin 2000000',
        '/workspace/dir/',
        '/workspace/empty 0',
        '/workspace/moved/',
        '/workspace/new/',
        '/workspace/zipped.txt 1000',
        '/workspace/dir/a.txt 6',
        '/workspace/moved/c.txt 1',
        '/workspace/new/dir/',
      ],
      getInfo: ['a.txt', 'file', 6, '-rw-r--r--'],
      missing: 'FileNotFoundError: /workspace/missing does not exist in the workspace',
      denied: expect.stringContaining('403'),
      events: expect.arrayContaining([
        'create new.txt',
        'create in',
        'rename new.txt',
        'create in/moved.txt',
        'remove in',
      ]),
      pty: true,
      port: '200 from the sandbox',
      pause: expect.stringContaining('501: workspace'),
      stopped: [true, false],
      paused: ['SandboxNotFoundError: Sandbox is probably not running anymore', 'paused'],
      resumed: [true, 'done\n'],
      killed: [true, false, false],
      gone: expect.stringContaining('SandboxNotFoundError'),
    })
  })

  test('the example of the page works', () => expectExample(node, 'js'))

  test('a domain and a key suffice over TLS, also for signed URLs and ports', async () => {
    const inside = await listenInside()
    const program = `
      const { Sandbox } = await import('e2b')
      const sandbox = await Sandbox.create({ metadata: { team: 'tls' } })
      await sandbox.files.write('a b.txt', 'content')
      const url = await sandbox.downloadUrl('a b.txt', { useSignatureExpiration: 60 })
      const form = new FormData()
      form.append('file', new Blob(['uploaded']), 'ignored')
      const upload = await fetch(await sandbox.uploadUrl('up.txt'), { method: 'POST', body: form })
      const port = (headers) => fetch('https://' + sandbox.getHost(${inside}), { headers })
      const traffic = { 'e2b-traffic-access-token': sandbox.trafficAccessToken }
      const results = [
        (await sandbox.commands.run('echo ran')).stdout,
        await (await fetch(url)).text(),
        (await fetch(url.replace('a+b.txt', 'up.txt'))).status,
        (await fetch(url.replace(/expiration=\\d+/, 'expiration=9'))).status,
        [upload.status, await sandbox.files.read('up.txt')],
        await (await port(traffic)).text(),
        (await port({})).status,
        await sandbox.kill(),
      ]
      console.log(JSON.stringify(results))`
    expect(await playOverTls(node, program)).toEqual([
      'ran\n',
      'content',
      401,
      401,
      [200, 'uploaded'],
      'from the sandbox',
      401,
      true,
    ])
  })

  test('a wrong key is refused', async () => {
    const program = `import { Sandbox } from 'e2b'\nawait Sandbox.create().catch(({ name }) => console.log(name))`
    const result = await node.run(program, [], environment('wrong'))
    expect(result).toMatchObject({ stdout: 'AuthenticationError\n', status: 0 })
  })
})

describe(`E2B for Python ${python.version}`, () => {
  test('every supported call works', async () => {
    const { status, signal, stdout, stderr } = await python.run(
      fixture('python/e2b_client.py'),
      [],
      environment(),
    )
    expect({ status, signal }, stderr).toEqual({ status: 0, signal: null })
    expect(JSON.parse(stdout)).toEqual({
      running: true,
      info: [true, 'base', { team: 'a b' }, 'running'],
      listed: true,
      connected: true,
      template: 'SandboxException',
      run: ['bar x y\n/tmp\n', 'é\n', 0, 'bar x y\n/tmp\n'],
      user: '0\n',
      exit: 'CommandExitException',
      late: 'TimeoutException',
      list: [true],
      stdin: 'got one\ngot two\ngot three\n',
      kill: [true, 'CommandExitException', false],
      read: ['hällo', true, true],
      exists: [true, false],
      make_dir: [true, false],
      rename: '/workspace/moved/c.txt',
      files: [
        '/workspace/b.bin file',
        '/workspace/dir dir',
        '/workspace/moved dir',
        '/workspace/new dir',
        '/workspace/dir/a.txt file',
        '/workspace/moved/c.txt file',
        '/workspace/new/dir dir',
      ],
      get_info: 6,
      missing: 'FileNotFoundException',
      events: expect.arrayContaining(['create new.txt']),
      pty: true,
      pause: 'SandboxException',
      paused: [false, 'SandboxNotRunningException', 'paused'],
      resumed: 'hällo',
      killed: [true, false, false],
      async: ['hi\n', true, true],
    })
  })

  test('the example of the page works', () => expectExample(python, 'python'))
})

async function expectExample(sdk: typeof node, language: 'js' | 'python'): Promise<void> {
  const [, example = ''] = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(page) ?? []
  const result = await sdk.run(example, [], environment())
  expect(result, result.stderr).toMatchObject({ stdout: 'Hello!\n', status: 0 })
}

/** Listens like a program in a sandbox, which has the host's network here. */
async function listenInside(): Promise<number> {
  const inside = createServer((_request, response) => response.end('from the sandbox'))
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void inside.close())
  return (inside.address() as AddressInfo).port
}
