import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect, type Workspace } from '../../../../src/workspace/client/sdk/connect.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

let server: TestServer
let workspace: Workspace

beforeAll(async () => {
  server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  workspace = await connect({ url: server.url }).create({ name: 'cells' })
})
afterAll(async () => {
  await workspace.delete()
  await server.stop()
})

const python = (code: string, options = {}) => workspace.code.run(code, options)
const plain = async (running: ReturnType<typeof python>) => {
  const { results, error } = await running
  return error?.name ?? results.map(({ data }) => data['text/plain'])
}

test('lines of notebooks run commands, and indented code runs', async () => {
  const code = '!echo "a\'b" | tr a x\nif True:\n  !echo two >&2\ntext = """\n!echo no\n%no"""; text'
  expect(await python(code)).toMatchObject({
    stdout: "x'b\n",
    stderr: 'two\n',
    error: null,
    results: [{ data: { 'text/plain': "'\\n!echo no\\n%no'" } }],
  })
  expect(await plain(python('%matplotlib inline\n!true'))).toEqual([])
  expect(await python('%pip --version')).toMatchObject({ error: null, results: [] })
  expect(await plain(python('\n    # indented\n    a = 1\n    if a:\n        a = 2\n    a'))).toEqual(['2'])
  for (const bad of ['x = ;', 'x = 1 !', 'if True:\n!true', '(\n!true'])
    expect(await plain(python(bad))).toMatch(/SyntaxError|IndentationError/)
  expect((await python('!sleep 60', { timeoutMs: 300 })).error?.name).toBe('KeyboardInterrupt')
})

test('W12 cells of notebooks run as there, or the error names what to use', async () => {
  expect(await plain(python('files = !printf "a\\nb"\nfiles'))).toEqual(["['a', 'b']"])
  expect(await plain(python('if True:\n  first, second = !echo 1; echo 2\nfirst + second'))).toEqual(["'12'"])
  expect(await plain(python('!!echo two'))).toEqual(["['two']"])
  expect(await python('%%bash\nx=3\necho $((x + 1)) ${BASH_VERSION:+bash}')).toMatchObject({
    stdout: '4 bash\n',
    error: null,
  })
  expect((await python('%%sh\nexit 3')).error).toMatchObject({
    name: 'CalledProcessError',
    value: expect.stringContaining('exit status 3'),
  })
  await python('import os; folder = os.getcwd()')
  expect(await python('%cd /tmp\n!pwd')).toMatchObject({ stdout: '/tmp\n/tmp\n' })
  expect((await python('%cd "/no such folder"')).error?.name).toBe('FileNotFoundError')
  await python('os.chdir(folder)')

  await python('from __future__ import annotations')
  expect(await python('def later(each: Unknown): pass')).toMatchObject({ error: null })

  const supported = 'not Python; supported are !COMMAND, NAME = !COMMAND, %cd, %pip, %matplotlib and'
  for (const command of ['%timeit 1', '1\n%%bash\nls', '%%time\n1', 'if True:\n    %load_ext x'])
    expect((await python(command)).error).toMatchObject({
      name: 'SyntaxError',
      value: expect.stringContaining(supported),
    })
  for (const question of ['print?', '?print', 'x = 5\nprint??'])
    expect((await python(question)).error?.value).toContain('not Python; use help(print)')
  for (const missing of ['Out[1]', 'In', 'get_ipython()'])
    expect((await python(missing)).error).toMatchObject({
      name: 'NameError',
      value: expect.stringContaining('only IPython has it'),
    })
  expect((await python('other_name')).error?.value).toBe("name 'other_name' is not defined")
})
