import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connect } from '../../../src/workspace/client/sdk/connect.ts'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'
import { type Description, synchronousOf, typesOf } from '../../../scripts/python-sdk/types-of.ts'
import { dockerBackend, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { cuttableLink } from '../../support/http/cuttable-link.ts'
import { madeOnce } from '../../support/made-once.ts'
import { freePort } from '../../support/services/free-port.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { installInterpreters } from '../../support/workspace/guest/interpreters.ts'
import { call, startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const sources = join(packageRoot, 'sdk/python')
const module = join(sources, 'src/workspace_suite')
const program = join(packageRoot, 'test/fixtures/foreign/python/sdk_async.py')
const codeProgram = join(packageRoot, 'test/fixtures/foreign/python/sdk_code.py')
const read = (file: string): string => readFileSync(file, 'utf8')

/** A Python with the package installed from its wheel, and mypy. */
const environment = madeOnce(
  'python-sdk',
  [
    join(sources, 'pyproject.toml'),
    join(sources, 'README.md'),
    ...globSync(join(module, '*.py')).toSorted(),
  ].map(read),
  (folder) => {
    const quiet = { encoding: 'utf8' } as const
    execFileSync('python3', ['-m', 'venv', folder], quiet)
    const python = join(folder, 'bin/python')
    const pip = (...argv: readonly string[]) => execFileSync(python, ['-m', 'pip', ...argv, '-q'], quiet)
    pip('wheel', '--no-deps', '-w', folder, sources)
    pip('install', ...globSync(join(folder, '*.whl')), 'mypy==2.4.1')
  },
)
const python = join(environment, 'bin/python')

let server: TestServer
beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [dockerBackend()] })
})
afterAll(() => server.stop())

describe('the package for Python', () => {
  test('its generated modules are current, and its version is that of the server', async () => {
    const { body } = await call(`${server.url}/openapi.json`)
    expect(typesOf(body as Description)).toBe(read(join(module, '_types.py')))
    expect(synchronousOf(read(join(module, '_async.py')))).toBe(read(join(module, '_sync.py')))
    const { version } = JSON.parse(read(join(packageRoot, 'package.json'))) as { version: string }
    expect(read(join(sources, 'pyproject.toml'))).toContain(`\nversion = "${version}"\n`)
  })

  test('mypy accepts the installed package and a program that uses it', async () => {
    const argv = ['-m', 'mypy', '--strict', '--cache-dir', tempDir(), '-p', 'workspace_suite']
    expect(await run(python, argv, { timeoutMs: 150_000 })).toMatchObject({ status: 0 })
    const using = ['-m', 'mypy', '--strict', '--cache-dir', tempDir(), program, codeProgram]
    expect(await run(python, using, { timeoutMs: 150_000 })).toMatchObject({ status: 0 })
  })

  test.each(['AsyncClient', 'Client'])('the example of %s in the page works', async (client) => {
    const name = uniqueName('python-page')
    onTestFinished(() => removeLeftovers(name))
    const page = read(join(packageRoot, 'docs/workspace/sdk.md'))
    const examples = [...page.matchAll(/```python\n([^]*?)```/g)].map(([, example = '']) => example)
    const example = examples.find((each) => each.includes(` ${client}()`)) ?? ''
    const directory = tempDir()
    const file = join(directory, 'example.py')
    writeFileSync(file, example.replaceAll('"demo"', `"${name}"`))
    const variables = { PATH: process.env['PATH'], HOME: directory, WORKSPACE_URL: server.url }
    const result = await run(python, [file], { environment: variables })
    expect(result).toMatchObject({ stdout: '0 Hello!\n\n1\n2\n3\n', status: 0 })
  })

  test('code runs with both clients, and as in the example of the page', async () => {
    const name = uniqueName('python-code')
    onTestFinished(() => removeLeftovers(name))
    await installInterpreters(await connect({ url: server.url }).create({ name }))
    const page = read(join(packageRoot, 'docs/workspace/code.md'))
    const [, example = ''] = /```python\n([^]*?)```/.exec(page) ?? []
    const file = join(tempDir(), 'code.py')
    const use = async (text: string) => {
      writeFileSync(file, text)
      const variables = { PATH: process.env['PATH'], WORKSPACE_URL: server.url }
      const options = { environment: variables, timeoutMs: 60_000 }
      const result = await run(python, [file, server.url, name], options)
      expect(result.status, result.stderr).toBe(0)
      return result.stdout
    }
    expect(await use(example.replace('"demo"', `"${name}"`))).toBe('12 None\n0\n1\n2\n')
    for (const text of [read(codeProgram), synchronous(read(codeProgram))])
      expect(JSON.parse(await use(text))).toMatchObject({
        code: ['out\n', { 'text/plain': '[1]', 'application/json': '[1]' }, true, null, expect.any(Number)],
        'code error': ['ZeroDivisionError', 'division by zero'],
        'code events': ['é\n', '[1]', 'None'],
        context: ["'/tmp'", true, 'CONTEXT_NOT_FOUND 404'],
      })
  })

  test.each(['AsyncClient', 'Client'])('every method of %s works', async (client) => {
    const name = uniqueName('python-sdk')
    onTestFinished(() => removeLeftovers(name))
    const { url, cut } = await cuttableLink(server.httpPort)
    const cutter = createServer((_request, response) => {
      cut()
      response.end()
    })
    const port = await freePort()
    await new Promise<void>((resolve) => cutter.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void cutter.close())
    const file = join(tempDir(), 'use.py')
    writeFileSync(file, client === 'Client' ? synchronous(read(program)) : read(program))
    const cutUrl = `http://127.0.0.1:${(cutter.address() as AddressInfo).port}`
    const result = await run(python, [file, server.url, name, url, cutUrl, String(port)], {
      timeoutMs: 150_000,
    })
    expect(result.status, result.stderr).toBe(0)
    const state = ['640', 2_560_000, true, true, 'FILE_CONFLICT 409', 'again', 'FILE_NOT_FOUND 404']
    expect(JSON.parse(result.stdout)).toEqual({
      created: ['running', { my_key: 'a b' }, true],
      info: 'test-server',
      listed: [true, true, false],
      same: true,
      set: [{ b_c: 'd' }, 600, true],
      unset: true,
      stopped: 'stopped',
      started: 'running',
      'first event': 'snapshot',
      argv: "a b|$HOME|'|",
      shell: ['/tmp\nä\n', 'err\n', 3],
      lines: true,
      bytes: true,
      'timed out': true,
      stream: [true, 7],
      waited: 4,
      process: ['ended', true],
      resumed: ['line 0', 'line 1', 'line 2', 'line 3', 'end'],
      signaled: 143,
      files: [state, state, state, state, state],
      watched: 'create',
      names: ['%E9'],
      pieces: true,
      archive: [true, 'FILE_NOT_FOUND 404', 'INVALID_ARCHIVE 400'],
      import: ['running', true],
      fork: [['running', true, true]],
      rewound: ['before', 'running', true, 'rewind', true],
      'no checkpoint': 'CHECKPOINT_NOT_FOUND 404',
      'import failures': ['WORKSPACE_ALREADY_EXISTS 409', 'INVALID_ARCHIVE 400'],
      'no port': 'WAIT_TIMED_OUT',
      port: true,
      preview: true,
      errors: [
        'WORKSPACE_NOT_FOUND 404',
        'INVALID_WORKSPACE_NAME 400',
        'WORKSPACE_ALREADY_EXISTS 409',
        'WORKSPACE_ALREADY_RUNNING 409',
        'SUSPEND_UNSUPPORTED 501',
        'RENAME_UNSUPPORTED 501',
        'INVALID_REQUEST 400',
        'PROCESS_NOT_FOUND 404',
        'FILE_DENIED 403',
        'SERVER_UNREACHABLE',
      ],
    })
  })
})

/** Returns the program for the synchronous client; its calls are passed as functions so that failures are caught. */
function synchronous(text: string): string {
  return synchronousOf(text)
    .replaceAll(/failure\((.*)\)(,?)$/gm, 'failure(lambda: $1)$2')
    .replace('        call\n', '        call()\n')
    .replace('asyncio.run(main())', 'main()')
}
