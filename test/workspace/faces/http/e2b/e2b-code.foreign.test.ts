import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../../../../src/lib/process/package.ts'
import { e2bForNode, e2bForPython } from '../../../../support/foreign/clients.ts'
import { playOverTls } from '../../../../support/foreign/e2b-over-tls.ts'
import { makeTempDir, tempDir } from '../../../../support/temp-dir.ts'
import { FakeBackend } from '../../../../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer, type TestServer } from '../../../../support/workspace/server/test-server.ts'

const TOKEN = 'the-token-of-this-test'
const fixture = (file: string): string =>
  readFileSync(join(packageRoot, 'test/fixtures/foreign', file), 'utf8')
const node = e2bForNode()
const python = e2bForPython()
const { path: folder, remove } = makeTempDir()

let server: TestServer
beforeAll(async () => {
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, TOKEN)
  server = await startWorkspaceServer({
    // The interpreters are those of this machine.
    backends: () => [new FakeBackend()],
    settings: { e2b: { enabled: true }, http: { token_file: tokenFile } },
  })
})
afterAll(async () => {
  await server.stop()
  remove()
})

const environment = () => ({
  PATH: process.env['PATH'],
  HOME: tempDir(),
  E2B_API_KEY: TOKEN,
  E2B_API_URL: `${server.url}/e2b`,
  E2B_SANDBOX_URL: `${server.url}/e2b`,
})

async function play(sdk: typeof node, file: string): Promise<unknown> {
  const { status, signal, stdout, stderr } = await sdk.run(fixture(file), [], environment())
  expect({ status, signal }, stderr).toEqual({ status: 0, signal: null })
  return JSON.parse(stdout)
}

test(`code runs for E2B's packages for JavaScript ${node.version}`, async () => {
  expect(await play(node, 'e2b/code.mjs')).toEqual({
    basic: ['1', 1, null, 1, { stdout: [], stderr: [] }],
    state: '2',
    text: 'aé',
    indented: '2',
    callbacks: [
      ['stdout', 'one\n', false, true],
      ['result', 'two', false],
      ['error', 'NameError', "name 'unknown' is not defined"],
    ],
    stderr: [['stderr', 'three é\n', true]],
    logs: { stdout: ['one\n'], stderr: ['three é\n'] },
    error: ['NameError', "name 'unknown' is not defined", true, null],
    rich: [
      [false, [], { text: '1' }],
      [
        true,
        ['html', 'png', 'json'],
        { text: 'rich', html: '<b>ä</b>', png: 'cG5n', json: { a: [1, null] } },
      ],
    ],
    figure: ['figure', false],
    large: 300_001,
    variables: [`['other', "b'ar"]`, "['set', None]"],
    javascript: ['3', '3', 'bar', 'a/b', 'TypeError'],
    contexts: [
      ['python', '/tmp'],
      ['javascript', '/workspace'],
    ],
    listed: [['python', 'javascript'], true],
    apart: ["name 'x' is not defined", '/tmp', '2'],
    restarted: ['NameError', '/tmp'],
    removed: [['python', 'javascript'], 'NotFoundError', 'NotFoundError', 'NotFoundError'],
    late: expect.stringContaining('TimeoutError: Execution timed out'),
    next: '2',
    lost: 'UnexpectedEndOfExecution',
    after: 'NameError',
    unsupported:
      'SandboxError: 400 language "r" is not supported by this server, which has python and javascript',
    directory: expect.stringContaining('SandboxError: 400 the interpreter cannot start there'),
    files: 'of the files',
    commands: 'ran\n',
    connected: '4',
    stopped: expect.stringContaining('TimeoutError: The sandbox was killed'),
    killed: true,
    gone: 'TimeoutError',
  })
})

test(`code runs for E2B's packages for Python ${python.version}`, async () => {
  expect(await play(python, 'python/e2b_code.py')).toEqual({
    basic: ['1', 1, null, 1],
    state: '2',
    indented: '2',
    serialized: { results: [{ text: 'a' }], logs: '{"stdout": [], "stderr": []}', error: null },
    callbacks: [
      ['stdout', 'one \u2028 é\n', false, true],
      ['result', 'two', false],
      ['error', 'NameError', "name 'unknown' is not defined"],
    ],
    stderr: ['three\n'],
    logs: [['one \u2028 é\n'], ['three\n']],
    error: ['NameError', true, null],
    rich: [
      [false, ['text']],
      [true, ['text', 'html', 'png', 'json', 'data', 'x/own']],
    ],
    values: ['<b>ä</b>', 'cG5n', { a: [1, null] }, { a: [1, 2] }, { 'x/own': 'own' }],
    large: 300_001,
    variables: ["['other', 'bar']", "['set', None]"],
    javascript: ['3', ['3\n'], 'a/b', 'TypeError'],
    contexts: [
      ['python', '/tmp'],
      ['javascript', '/workspace'],
    ],
    listed: [['python', 'javascript', 'python', 'javascript'], true],
    apart: ["name 'x' is not defined", '/tmp', '2'],
    restarted: 'NameError',
    removed: [['python', 'javascript'], 'NotFoundException', 'NotFoundException', 'NotFoundException'],
    late: 'TimeoutException',
    next: '2',
    lost: 'UnexpectedEndOfExecution',
    unsupported: expect.stringContaining('language "r" is not supported by this server'),
    connected: '4',
    stopped: expect.stringContaining('TimeoutException: The sandbox was killed'),
    killed: true,
    gone: 'TimeoutException',
    async: ['1', ['on\n'], 'NameError', 2],
  })
})

test('the examples of the page for code work', async () => {
  const page = readFileSync(join(packageRoot, 'docs/workspace/e2b.md'), 'utf8')
  for (const [sdk, language] of [
    [node, 'js'],
    [python, 'python'],
  ] as const) {
    const examples = [...page.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))]
    const example = examples.map(([, text = '']) => text).find((text) => /code.interpreter/.test(text)) ?? ''
    const result = await sdk.run(example, [], environment())
    expect(result, result.stderr).toMatchObject({ stdout: '6\n', status: 0 })
  }
})

test('a domain and a key suffice for code over TLS', async () => {
  const program = `
    const { Sandbox } = await import('@e2b/code-interpreter')
    const sandbox = await Sandbox.create()
    const context = await sandbox.createCodeContext()
    const { text } = await sandbox.runCode('6 * 7', { context })
    console.log(JSON.stringify([text, (await sandbox.listCodeContexts()).length, await sandbox.kill()]))`
  expect(await playOverTls(node, program)).toEqual(['42', 3, true])
})
