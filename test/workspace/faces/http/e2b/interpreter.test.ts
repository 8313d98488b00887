import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { suiteDir } from '../../../../support/temp-dir.ts'
import { waitFor } from '../../../../support/wait-for.ts'
import {
  linesOf,
  makeSandbox,
  open,
  type SandboxHeaders,
  textOf,
} from '../../../../support/workspace/client/e2b-client.ts'
import { FakeBackend } from '../../../../support/workspace/backend/fake-backend.ts'
import {
  call,
  startWorkspaceServer,
  type TestServer,
} from '../../../../support/workspace/server/test-server.ts'

const idOf = (sandbox: SandboxHeaders): string => sandbox['e2b-sandbox-id'] ?? ''

describe("E2B's code interpreter", () => {
  const folder = suiteDir()
  const backend = new FakeBackend()
  let server: TestServer
  let sandbox: SandboxHeaders
  beforeAll(async () => {
    server = await startWorkspaceServer({
      backends: () => [backend],
      settings: { e2b: { enabled: true }, audit: { file: join(folder.path, 'audit') } },
    })
    sandbox = await makeSandbox(server.url, {
      templateID: 'code-interpreter-v1',
      envVars: { OF_SANDBOX: 'set' },
    })
  })
  afterAll(() => server.stop())

  const execute = (body: object, to = sandbox) => open(`${server.url}/e2b/execute`, body, to)
  const run = async (code: string, body: object = {}, to = sandbox) =>
    linesOf(await textOf(await execute({ code, ...body }, to)))
  const resultsOf = (lines: readonly any[]) => lines.filter(({ type }) => type === 'result')
  const textsOf = async (code: string, body: object = {}) =>
    resultsOf(await run(code, body)).map(({ text }) => text)
  const refusal = async (body: unknown, path = 'execute', method = 'POST') => {
    const response = await open(`${server.url}/e2b/${path}`, body, sandbox, method)
    return [response.statusCode, await textOf(response)]
  }
  const contexts = async (): Promise<readonly any[]> =>
    JSON.parse(await textOf(await open(`${server.url}/e2b/contexts`, '', sandbox, 'GET')))
  const createContext = async (body: object) =>
    JSON.parse(await textOf(await open(`${server.url}/e2b/contexts`, body, sandbox)))

  test('a run has lines for its number, output, results, error and end', async () => {
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/)
    const code = 'import sys\nprint("out é\\u2028")\ndisplay(1)\nprint("err", file=sys.stderr)\n1 / 0'
    const response = await execute({ code, context_id: null, language: null, env_vars: null })
    expect(response.headers['content-type']).toBe('application/json')
    const text = await textOf(response)
    expect(text).toMatch(/^[\n -~]+$/)
    const lines = linesOf(text)
    // The order of the two streams is not known.
    expect(lines.filter(({ type }) => type !== 'stderr')).toEqual([
      { type: 'number_of_executions', execution_count: expect.any(Number) },
      { type: 'stdout', text: 'out é\u2028\n', timestamp },
      { type: 'result', is_main_result: false, text: '1', extra: {} },
      {
        type: 'error',
        name: 'ZeroDivisionError',
        value: 'division by zero',
        traceback: expect.stringContaining('line 5'),
      },
      { type: 'end_of_execution' },
    ])
    expect(lines).toContainEqual({ type: 'stderr', text: 'err\n', timestamp })
  })

  test('state is kept per language, and its names are those of E2B', async () => {
    expect(await textsOf('x = "kept"; x')).toEqual(['kept'])
    expect(await textsOf('x', { language: ' Python' })).toEqual(['kept'])
    expect(await textsOf('x', { context_id: 'python' })).toEqual(['kept'])
    expect(await textsOf('globalThis.x ??= "other"', { language: 'js' })).toEqual(['other'])
    expect(await textsOf('x', { language: 'javascript' })).toEqual(['other'])
    const [first, second] = [await run('1'), await run('1')]
    expect(second[0].execution_count).toBe(first[0].execution_count + 1)
    expect(await textsOf('\n  # indented\n  if x:\n    y = 3\n  y')).toEqual(['3'])
  })

  test('results have the fields of their types', async () => {
    const [rich] = resultsOf(
      await run(`
class Rich:
  def __repr__(self): return '"quoted"'
  def _repr_html_(self): return "<b>ä</b>"
  def _repr_markdown_(self): return "*m*"
  def _repr_svg_(self): return "<svg/>"
  def _repr_png_(self): return b"png"
  def _repr_jpeg_(self): return b"jpeg"
  def _repr_latex_(self): return "$x$"
  def _repr_json_(self): return {"n": 12345678901, "a": [1, "é"]}
  def _repr_mimebundle_(self, include=None, exclude=None):
    return {"application/javascript": "js", "application/pdf": b"pdf", "e2b/data": {"a": [1]},
            "e2b/chart": {"type": "line"}, "x/own": "own", "__proto__": "p"}
Rich()`),
    )
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    expect(JSON.stringify(rich.extra)).toBe('{"x/own":"own","__proto__":"p"}')
    delete rich.extra
    expect(rich).toEqual({
      type: 'result',
      is_main_result: true,
      text: 'quoted',
      html: '<b>ä</b>',
      markdown: '*m*',
      svg: '<svg/>',
      png: base64('png'),
      jpeg: base64('jpeg'),
      latex: '$x$',
      json: { n: 12_345_678_901, a: [1, 'é'] },
      javascript: 'js',
      pdf: base64('pdf'),
      data: { a: [1] },
      chart: { type: 'line' },
    })
    const numbers = await textOf(await execute({ code: '{"n": 12345678901234567890}' }))
    expect(numbers).toContain('"json":{"n": 12345678901234567890}')
  })

  test('tables have their columns', async () => {
    const code = `
import datetime, sys, types
class DataFrame:
  def __repr__(self): return "table"
  def to_dict(self, orient): return {
    "a": [1, float("nan")], 2: [datetime.date(2026, 1, 2), {3}], "k": [orient, None]}
pandas = sys.modules["pandas"] = types.ModuleType("pandas")
pandas.DataFrame = DataFrame
DataFrame()`
    const data = { a: [1, null], 2: ['2026-01-02', '{3}'], k: ['list', null] }
    expect(resultsOf(await run(code))).toMatchObject([{ text: 'table', data, extra: {} }])
    const broken = 'DataFrame.to_dict = None\nDataFrame()'
    expect(resultsOf(await run(broken))[0]).not.toHaveProperty('data')
    await run('del sys.modules["pandas"]')
  })

  test.each([
    ['that is not JSON', '"{"', '"{"'],
    ['with line breaks', String.raw`'{\n\t"a":\r\n "b"\n}'`, '{  "a":   "b" }'],
    ['that is nested too deeply', '"[" * 100_000 + "]" * 100_000', '"[[['],
    ['with a value that JSON lacks', '{"a": float("nan")}', String.raw`"{\"a\": NaN}"`],
  ])('JSON %s cannot break a line', async (_what, value, expected) => {
    const body = { code: `class Odd:\n  def _repr_json_(self): return ${value}\nOdd()` }
    const text = await textOf(await execute(body))
    expect(text).toContain(`"json":${expected}`)
    expect(linesOf(text).map(({ type }) => type)).toEqual([
      'number_of_executions',
      'result',
      'end_of_execution',
    ])
  })

  test('variables are set during a run only', async () => {
    const values = 'import os; [os.environ.get(name) for name in ("OF_SANDBOX", "FOO")]'
    expect(await textsOf(values, { env_vars: { OF_SANDBOX: 'é', FOO: 'b' } })).toEqual(["['é', 'b']"])
    expect(await textsOf(values)).toEqual(["['set', None]"])
    const failed = await run('1 / 0', { env_vars: { FOO: 'b' } })
    expect(failed).toContainEqual(expect.objectContaining({ name: 'ZeroDivisionError' }))
    expect(await textsOf(values)).toEqual(["['set', None]"])
    const language = 'javascript'
    const own = '[process.env.OF_SANDBOX, process.env.FOO].join()'
    expect(await textsOf(own, { language, env_vars: { OF_SANDBOX: 'a', FOO: 'b' } })).toEqual(['a,b'])
    expect(await textsOf(own, { language })).toEqual(['set,'])
    const odd = await run('1', { env_vars: { FOO: '\ud800' } })
    expect(odd).toContainEqual(expect.objectContaining({ name: 'UnicodeEncodeError' }))
    expect(await textsOf('1')).toEqual(['1'])
  })

  test.each([
    ['no object', '[]', 400, 'must be object'],
    ['no JSON', '{', 400, 'JSON'],
    ['no code', {}, 400, "'code'"],
    ['code that is not text', { code: 1 }, 400, 'code must be string'],
    ['another language', { code: '1', language: 'R' }, 400, 'language "r" is not supported by this server'],
    ['TypeScript', { code: '1', language: 'ts' }, 400, 'language "ts" is not supported by this server'],
    ['both selections', { code: '1', language: 'js', context_id: 'a' }, 400, 'only one of'],
    ['an unknown field', { code: '1', kernel: 'ir' }, 400, 'the field "kernel" is not supported'],
    ['an unknown context', { code: '1', context_id: 'none' }, 404, 'no code context "none"'],
    ['an invalid variable', { code: '1', env_vars: { 'A=B': '' } }, 400, '"A=B"'],
    ['a variable with NUL', { code: '1', env_vars: { A: '\0' } }, 400, 'NUL'],
    ['a variable that is not text', { code: '1', env_vars: { A: 1 } }, 400, 'env_vars.A'],
    ['deep nesting', `{"code":"1","env_vars":${'['.repeat(100)}`, 400, 'nested deeper'],
    ['a large body', { code: 'x'.repeat(2 ** 20) }, 413, 'exceeds 1 MiB'],
  ])('a request with %s is refused', async (_what, body, status, message) => {
    expect(await refusal(body)).toEqual([status, expect.stringContaining(message)])
  })

  test('a refusal is in the status line, from which the SDK for JavaScript takes it', async () => {
    const response = await execute({ code: '1', language: 'ü\r\nx' })
    expect(response.statusMessage).toMatch(/^language "\?.*" is not supported by this server/)
    expect(response.headers['content-type']).toBe('text/plain; charset=utf-8')
    response.resume()
  })

  test('contexts are created, listed, restarted and removed', async () => {
    const listed = [
      { id: 'python', language: 'python', cwd: '/workspace' },
      { id: 'javascript', language: 'javascript', cwd: '/workspace' },
    ]
    const other = await makeSandbox(server.url)
    const url = `${server.url}/e2b/contexts`
    expect(JSON.parse(await textOf(await open(url, '', other, 'GET')))).toEqual(listed)
    expect(await textOf(await open(`${url}/python/restart`, '', other))).toBe('null')
    expect(await textOf(await open(`${url}/python`, '', other, 'DELETE'))).toBe('null')

    const first = await createContext({})
    expect(first).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      language: 'python',
      cwd: '/workspace',
    })
    const second = await createContext({ language: 'js', cwd: '/tmp' })
    expect(second).toMatchObject({ language: 'javascript', cwd: '/tmp' })
    expect(await contexts()).toEqual([...listed, first, second])

    const [one, two] = [{ context_id: first.id }, { context_id: second.id }]
    await run('x = 1', one)
    await run('x = 2')
    expect(await textsOf('x', one)).toEqual(['1'])
    expect(await textsOf('x = 3; process.cwd()', two)).toEqual(['/tmp'])
    for (const { id } of [first, second])
      expect(await refusal('', `contexts/${id}/restart`)).toEqual([200, 'null'])
    expect(await run('x', one)).toContainEqual(expect.objectContaining({ value: "name 'x' is not defined" }))
    expect(await textsOf('[typeof x, process.cwd()].join()', two)).toEqual(['undefined,/tmp'])
    await refusal('', 'contexts/python/restart')
    expect(await run('x')).toContainEqual(expect.objectContaining({ name: 'NameError' }))

    for (const { id } of [first, second])
      expect(await refusal('', `contexts/${id}`, 'DELETE')).toEqual([200, 'null'])
    expect(await contexts()).toEqual(listed)
    const missing = [404, expect.stringContaining(`no code context "${first.id}"`)]
    expect(await refusal({ code: '1', context_id: first.id })).toEqual(missing)
    expect(await refusal('', `contexts/${first.id}`, 'DELETE')).toEqual(missing)
    expect(await refusal('', `contexts/${first.id}/restart`)).toEqual(missing)
  })

  test.each([
    ['a missing directory', { cwd: '/no/such' }, 400, 'cannot start there'],
    ['a directory with NUL', { cwd: 'a\0b' }, 400, 'NUL'],
    ['another language', { language: 'bash' }, 400, 'language "bash" is not supported by this server'],
    ['an unknown field', { env: {} }, 400, 'the field "env" is not supported'],
  ])('a context with %s is refused', async (_what, body, status, message) => {
    expect(await refusal(body, 'contexts')).toEqual([status, expect.stringContaining(message)])
  })

  test('more contexts than the limit are refused', { tags: ['long'] }, async () => {
    const full = await makeSandbox(server.url)
    const create = () => open(`${server.url}/e2b/contexts`, {}, full)
    const made = await Promise.all(Array.from({ length: 9 }, create))
    const statuses = made.map((response) => response.resume().statusCode)
    expect(statuses.filter((status) => status === 503)).toHaveLength(1)
    await call(`${server.url}/e2b/sandboxes/${idOf(full)}`, 'DELETE')
  })

  test('code whose client disconnects is interrupted', async () => {
    await run('import time; steps = []')
    const response = await execute({ code: 'print("on")\nwhile True: steps.append(time.sleep(0.01))' })
    await new Promise((resolve) => response.once('data', resolve))
    response.destroy()
    expect(await textsOf('"next"')).toEqual(['next'])
  })

  test('an interpreter that ends during a run is an error of the run', async () => {
    const error = {
      type: 'error',
      name: 'UnexpectedEndOfExecution',
      value: expect.stringContaining('status 3'),
      traceback: '',
    }
    const lines = await run('import os; os._exit(3)')
    expect(lines.slice(-2)).toEqual([error, { type: 'end_of_execution' }])
    expect(await textsOf('1')).toEqual(['1'])
  })

  test('a restart ends the code that runs', async () => {
    const { id } = await createContext({})
    const response = await execute({ code: 'print("on")\nwhile True: pass', context_id: id })
    const whole = textOf(response)
    await waitFor('the code', async () => (await contexts()).some((each) => each.id === id))
    await refusal('', `contexts/${id}/restart`)
    expect(linesOf(await whole).at(-2)).toMatchObject({ name: 'UnexpectedEndOfExecution' })
    expect(await textsOf('2', { context_id: id })).toEqual(['2'])
    await refusal('', `contexts/${id}`, 'DELETE')
  })

  test.each([
    ['paused', 'POST', '/pause'],
    ['killed', 'DELETE', ''],
  ])(
    'a response is cut off when its sandbox is %s, which the SDKs then ask for',
    async (_how, method, path) => {
      const ended = await makeSandbox(server.url)
      const response = await execute({ code: 'print("on")\nwhile True: pass' }, ended)
      const own = `${server.url}/e2b/sandboxes/${idOf(ended)}`
      const whole = textOf(response)
      await Promise.all([
        expect(whole).rejects.toThrow('aborted'),
        call(own + path, method, { memory: false }),
      ])
      const after = await execute({ code: '1' }, ended)
      expect([after.statusCode, await textOf(after)]).toEqual([
        502,
        expect.stringContaining('sandbox was not found'),
      ])
      await call(own, 'DELETE')
    },
  )

  test('code that prints faster than its output is read loses none', { tags: ['long'] }, async () => {
    const response = await execute({ code: 'for i in range(3_000): print("é" * 1_000)' })
    const lines = linesOf(await textOf(response))
    const length = lines.reduce((sum, each) => sum + (each.type === 'stdout' ? each.text.length : 0), 0)
    expect(length).toBe(3_000 * 1_001)
  })

  test('actions are recorded', async () => {
    await run('1')
    const recorded = () => readFileSync(join(folder.path, 'audit'), 'utf8')
    for (const action of ['exec.run', 'process.start', 'process.signal'])
      await expect.poll(recorded).toContain(`"${action}","workspace":"sb`)
  })
})
