import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { connect, type CodeEvent, type Workspace } from '../../../../src/workspace/client/sdk/connect.ts'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { describeOn } from '../../../support/workspace/backend/describe-on.ts'
import { FakeBackend } from '../../../support/workspace/backend/fake-backend.ts'
import { installInterpreters } from '../../../support/workspace/guest/interpreters.ts'
import { startWorkspaceServer, type TestServer } from '../../../support/workspace/server/test-server.ts'

const KINDS = [
  { kind: 'docker', backend: () => dockerBackend() },
  { kind: 'fake', backend: () => new FakeBackend() },
] as const

/** A module with the functions of matplotlib that are used for figures. */
const MATPLOTLIB = `
import sys, types
class Figure:
    def savefig(self, file, **options): file.write(b"\\x89PNG" + options["format"].encode())
plot, figures = types.ModuleType("matplotlib.pyplot"), {1: Figure(), 2: Figure()}
plot.get_fignums, plot.figure = lambda: list(figures), lambda number: figures[number]
plot.close = lambda figure: [figures.pop(each) for each in list(figures) if figures[each] is figure]
sys.modules["matplotlib.pyplot"] = plot`

/** An object with representations of all kinds, some of them broken. */
const RICH = `
class Rich:
    def __repr__(self): return "rich"
    def _repr_html_(self): return "<b>ä</b>"
    def _repr_png_(self): return b"\\x89PNG\\x00"
    def _repr_json_(self): return {"a": [1, None]}
    def _repr_latex_(self): raise ValueError("broken")
    def _repr_markdown_(self): return None
    def _repr_mimebundle_(self, include=None, exclude=None): return {"application/x-own": "own"}, {}
Rich()`

describeOn(KINDS, 'code', ({ backend, kind }) => {
  const name = uniqueName('code')
  let server: TestServer
  let workspace: Workspace
  const python = (code: string, options = {}) => workspace.code.run(code, options)
  const javascript = (code: string, options = {}) =>
    workspace.code.run(code, { language: 'javascript', ...options })
  /** Code that creates a file, and a wait for it. */
  const START = 'open("started", "w").close()\n'
  const started = async (): Promise<void> => {
    const isThere = () =>
      workspace.files.remove('started').then(
        () => true,
        () => false,
      )
    await waitFor('the code', isThere)
  }
  const plain = async (running: ReturnType<typeof python>) => {
    const { results, error } = await running
    return error?.name ?? results.map(({ data }) => data['text/plain'])
  }
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend()] })
    workspace = await connect({ url: server.url }).create({ name })
    if (kind === 'docker') await installInterpreters(workspace)
  })
  afterAll(async () => {
    await workspace.delete()
    await server.stop()
  })

  test('state, output and the last value of Python code are kept apart', async () => {
    const first = await python('import os, sys\nx = 1\nprint("out", x)\nprint("err", file=sys.stderr)\nx + 1')
    expect(first).toMatchObject({
      context: 'python',
      executionCount: 1,
      stdout: 'out 1\n',
      stderr: 'err\n',
      error: null,
      results: [{ data: { 'text/plain': '2' }, isValue: true }],
      resultsDropped: 0,
      timedOut: false,
    })
    expect(await python('os.system("echo child; echo trouble >&2")\nx += 1; x')).toMatchObject({
      executionCount: 2,
      stdout: 'child\n',
      stderr: 'trouble\n',
      results: [{ data: { 'text/plain': '2' } }],
    })
    expect(await plain(python('_ + 1'))).toEqual(['3'])
    expect(await plain(python('import asyncio\nawait asyncio.sleep(0)\n"a\\0é"'))).toEqual(["'a\\x00é'"])
    expect(await plain(python('x = 5;\nNone'))).toEqual([])
    expect(await plain(python(''))).toEqual([])
  })

  test('state, output and the last value of JavaScript code are kept apart', async () => {
    expect(await javascript('const x = 1; console.log("out", x); console.error("err"); x + 1')).toMatchObject(
      {
        context: 'javascript',
        executionCount: 1,
        stdout: 'out 1\n',
        stderr: 'err\n',
        error: null,
        results: [{ data: { 'text/plain': '2' }, isValue: true }],
      },
    )
    const child =
      'require("node:child_process").execSync("echo child; echo trouble >&2", { stdio: "inherit" })'
    expect(await javascript(`${child}; const x = 7; ({ x: [x, 'a_b'] })`)).toMatchObject({
      stdout: 'child\n',
      stderr: 'trouble\n',
      results: [{ data: { 'text/plain': "{ x: [ 7, 'a_b' ] }", 'application/json': '{"x":[7,"a_b"]}' } }],
    })
    const values = [
      'x',
      'null',
      'undefined',
      '1n',
      'NaN',
      '-0',
      'Symbol("s")',
      '"a\\0é"',
      'new Map([[1, 2]])',
    ]
    const shown = await Promise.all(values.map((code) => plain(javascript(code))))
    const expected = ['7', 'null', '', '1n', 'NaN', '-0', 'Symbol(s)', "'a\\x00é'", 'Map(1) { 1 => 2 }']
    expect(shown.map((each) => each[0] ?? '')).toEqual(expected)
    expect(await plain(javascript('const y = await new Promise((r) => setTimeout(r, 1, x)); y'))).toEqual([
      '7',
    ])
    expect(await plain(javascript('display(1, [2]); 3'))).toEqual(['1', '[ 2 ]', '3'])
  })

  test('JavaScript code imports modules', async () => {
    await workspace.files.write('own.mjs', 'export default "own"; export const one = 1\n')
    for (let times = 0; times < 2; times++)
      expect(
        await plain(
          javascript(`import path, { join as j } from "node:path"
import own, * as all from "./own.mjs"
import "node:fs";
[path.join === j, own, all.one, (await import("node:os")).EOL]`),
        ),
      ).toEqual(["[ true, 'own', 1, '\\n' ]"])
    expect(await plain(javascript('own + j("a", "b")'))).toEqual(["'owna/b'"])
    expect(await plain(javascript('import "node:fs"'))).toEqual([])
    expect((await javascript('\nimport { two } from "./own.mjs"')).error).toMatchObject({
      name: 'SyntaxError',
      value: "The requested module './own.mjs' does not provide an export named 'two'",
    })
    expect((await javascript('import "./missing.mjs"')).error?.value).toMatch(/missing\.mjs/)
  })

  test('results have all representations that an object offers', async () => {
    const [rich] = (await python(RICH)).results
    expect(rich?.data).toEqual({
      'text/plain': 'rich',
      'text/html': '<b>ä</b>',
      'image/png': Buffer.from('\x89PNG\0', 'latin1').toString('base64'),
      'application/json': '{"a": [1, null]}',
      'application/x-own': 'own',
    })
    const { results } = await python('display([1], Rich)\n{"a_b": (1,)}')
    expect(results.map(({ data, isValue }) => [data['application/json'], isValue])).toEqual([
      ['[1]', false],
      [undefined, false],
      ['{"a_b": [1]}', true],
    ])
    expect(await plain(python('class Bad:\n  def __repr__(self): 1 / 0\nBad()'))).toBe('ZeroDivisionError')
  })

  test('open figures are results', async () => {
    const { results, error } = await python(`${MATPLOTLIB}\nNone`)
    expect(error).toBeNull()
    const png = Buffer.from('\x89PNGpng', 'latin1').toString('base64')
    expect(results.map(({ data }) => data['image/png'])).toEqual([png, png])
    expect((await python('1')).results).toHaveLength(1)
  })

  test('exceptions have a name, a value and the lines of the code', async () => {
    const { error, stdout } = await python('print("before")\ndef f():\n    raise ValueError("bad é")\nf()')
    expect(stdout).toBe('before\n')
    expect(error).toMatchObject({ name: 'ValueError', value: 'bad é' })
    expect(error?.traceback).toMatch(/^Traceback[^]*line 4, in <module>\n    f\(\)\n[^]*ValueError: bad é\n$/)
    expect(error?.traceback).not.toContain('<string>')
    for (const [code, expected] of [
      ['x = ;', 'SyntaxError'],
      ['input()', 'EOFError'],
      ['exit(3)', 'SystemExit'],
      ['class E(Exception):\n  def __str__(self): raise KeyError\nraise E()', 'Exception'],
    ] as const)
      expect(await plain(python(code))).toBe(expected)
    const thrown = (await javascript('function f() { throw new TypeError("bad é") }\nf()')).error
    expect(thrown).toMatchObject({ name: 'TypeError', value: 'bad é' })
    expect(thrown?.traceback).toMatch(/^TypeError: bad é\n +at f [^]*:2:1\)?$/)
    expect((await javascript('throw { a: 1 }')).error).toMatchObject({ name: 'Error', value: '{ a: 1 }' })
    expect(await plain(javascript('let q = ;'))).toBe('SyntaxError')
    expect(await plain(javascript('Promise.reject(new RangeError()); 1'))).toEqual(['1'])
    expect(await plain(javascript('await Promise.reject(new RangeError())'))).toBe('RangeError')
  })

  test('an interpreter that is missing is named', async () => {
    for (const [language, expected] of [
      ['python', 'python3, 3.8 or later'],
      ['javascript', 'node, 18 or later'],
    ] as const)
      await expect(
        workspace.code.createContext(language, { env: { PATH: '/nonexistent' } }),
      ).rejects.toMatchObject({
        code: 'INTERPRETER_MISSING',
        status: 409,
        message: expect.stringContaining(expected),
      })
  })

  test('code that exceeds its time is interrupted and keeps its state', { tags: ['long'] }, async () => {
    await python('kept = "yes"')
    await javascript('let kept = "yes"')
    for (const code of [
      'while True: pass',
      'import time; time.sleep(60)',
      'import os; os.system("sleep 60")\nwhile True: pass',
    ])
      expect(await python(code, { timeoutMs: 300 })).toMatchObject({
        timedOut: true,
        error: { name: 'KeyboardInterrupt' },
      })
    for (const code of ['while (true) {}', 'await new Promise(() => {})'])
      expect(await javascript(code, { timeoutMs: 300 })).toMatchObject({
        timedOut: true,
        error: { name: 'Interrupted' },
      })
    // Enough garbage that the collector would free the promise for which the code waited.
    await javascript(
      'for (let i = 0; i < 3e5; i++) (globalThis.rows ??= []).push(new Array(10)); rows = undefined',
    )
    expect(await plain(python('kept'))).toEqual(["'yes'"])
    expect(await plain(javascript('kept'))).toEqual(["'yes'"])
  })

  test('code that ignores the interrupt ends with its context', { tags: ['long'] }, async () => {
    const { id } = await workspace.code.createContext('python')
    const code = 'import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass'
    await expect(python(code, { context: id, timeoutMs: 100 })).rejects.toMatchObject({
      code: 'CONTEXT_ENDED',
    })
    await expect(python('1', { context: id })).rejects.toMatchObject({
      code: 'CONTEXT_NOT_FOUND',
      status: 404,
    })
  })

  test('a client that leaves interrupts its code', async () => {
    await python('import time\nsteps = []')
    for await (const event of workspace.code.stream('print("ready")\nwhile True: time.sleep(0.01)')) {
      expect(event).toMatchObject({ type: 'stdout', data: expect.stringContaining('ready') })
      break
    }
    const leave = new AbortController()
    const running = python(`${START}while True: steps.append(time.sleep(0.01))`, { signal: leave.signal })
    await Promise.all([
      expect(running).rejects.toThrow('enough'),
      started().then(() => leave.abort(new Error('enough'))),
    ])
    expect(await plain(python('"next"'))).toEqual(["'next'"])
  })

  test('events arrive in the order of the code', async () => {
    const events: CodeEvent[] = []
    const code = 'print("one")\ndisplay(2)\nprint("é" * 3, end="")\n4'
    for await (const event of workspace.code.stream(code)) events.push(event)
    expect(events.map(({ type }) => type)).toEqual(['stdout', 'result', 'stdout', 'result', 'end'])
    expect(events.at(-1)).toMatchObject({ context: 'python', error: null, timedOut: false })
    const text = events.map((each) => (each.type === 'stdout' ? each.data : '')).join('')
    expect(text).toBe('one\nééé')
  })

  test('code that prints faster than its output is read loses none', async () => {
    let length = 0
    for await (const event of workspace.code.stream('for i in range(3_000): print("x" * 1_000)')) {
      if (event.type === 'stdout') length += event.data.length
    }
    expect(length).toBe(3_000 * 1_001)
  })

  test('output and results of a response are bounded', { tags: ['long'] }, async () => {
    const run = await python('print("x" * 3_000_000); print("last")', { maxOutputBytes: 100 })
    expect(run.stdout).toHaveLength(100)
    expect(run.stdout.endsWith('x\nlast\n')).toBe(true)
    expect(run.stdoutDroppedBytes).toBe(3_000_006 - 100)
    const large = await python('for i in range(7): display({"a": "x" * 3_000_000})')
    expect([large.results.length, large.resultsDropped]).toEqual([4, 3])
    const huge = await python('class Huge:\n  def _repr_html_(self): return "x" * 5_000_000\nHuge()')
    expect(Object.keys(huge.results[0]?.data ?? {})).toEqual(['text/plain'])
    expect(huge.stderr).toContain('text/html exceeds 4 MiB')
  })

  test('contexts have separate states, and are listed and ended', async () => {
    const first = await workspace.code.createContext('python', { env: { OF_CONTEXT: 'a b' } })
    const second = await workspace.code.createContext('javascript')
    const run = (context: string, code: string) => plain(workspace.code.run(code, { context }))
    const third = await workspace.code.createContext('javascript', { cwd: '/tmp' })
    expect(await run(first.id, 'import os; x = 9; os.environ["OF_CONTEXT"]')).toEqual(["'a b'"])
    expect(await run(third.id, 'process.cwd()')).toEqual(["'/tmp'"])
    expect(await run(second.id, 'typeof x')).toEqual(["'undefined'"])
    const ids = async () => (await workspace.code.contexts()).map(({ id }) => id)
    expect(await ids()).toEqual(expect.arrayContaining(['python', 'javascript', first.id, second.id]))
    const running = run(first.id, `${START}while True: pass`)
    await Promise.all([
      expect(running).rejects.toMatchObject({ code: 'CONTEXT_ENDED' }),
      started().then(() => workspace.code.deleteContext(first.id)),
    ])
    for (const { id } of [second, third]) await workspace.code.deleteContext(id)
    expect(await ids()).not.toContain(first.id)
    await expect(run(first.id, 'x')).rejects.toMatchObject({ code: 'CONTEXT_NOT_FOUND' })
  })

  test('a workspace has a bounded number of contexts', { tags: ['long'] }, async () => {
    const free = 8 - (await workspace.code.contexts()).length
    const made = await Promise.all(
      Array.from({ length: free }, () => workspace.code.createContext('javascript')),
    )
    onTestFinished(() =>
      Promise.all(made.map(({ id }) => workspace.code.deleteContext(id))).then(() => undefined),
    )
    await expect(workspace.code.createContext('python')).rejects.toMatchObject({
      code: 'TOO_MANY_CONTEXTS',
      status: 503,
    })
  })

  test('requests to one context follow each other', async () => {
    await python('order = []')
    const codes = Array.from({ length: 8 }, (_, at) => `order.append(${at}); len(order)`)
    const shown = await Promise.all(codes.map((code) => plain(python(code))))
    expect(new Set(shown.map(([each]) => each))).toEqual(new Set(['1', '2', '3', '4', '5', '6', '7', '8']))
    const running = python(`${START}import os, time\nwhile not os.path.exists("go"): time.sleep(0.01)`)
    await started()
    const waiting = Array.from({ length: 20 }, () => python('1'))
    // Each fails at once or waits.
    const refusals = waiting.map((each) =>
      each.then(
        () => undefined,
        (error: unknown) => error,
      ),
    )
    expect(await Promise.race(refusals)).toMatchObject({ code: 'CONTEXT_BUSY', status: 503 })
    await workspace.files.write('go', Buffer.from(''))
    for (const refusal of await Promise.all([running.then(() => undefined), ...refusals]))
      if (refusal !== undefined) expect(refusal).toMatchObject({ code: 'CONTEXT_BUSY', status: 503 })
  })

  test('an interpreter that ends or breaks the protocol is replaced', { tags: ['long'] }, async () => {
    for (const code of ['import os; os._exit(3)', 'import os; os.kill(os.getpid(), 9)'])
      await expect(python(code)).rejects.toMatchObject({ code: 'CONTEXT_ENDED', status: 409 })
    expect(await plain(python('1'))).toEqual(['1'])
    const runner =
      'import sys, gc\nmark = next(each["MARK"] for each in gc.get_objects() if isinstance(each, dict) and isinstance(each.get("MARK"), bytes))\n'
    for (const bad of ['b"not json"', 'b\'{"type":"result","run":1,"data":{"a":1}}\'', 'b"x" * 9_000'])
      await expect(
        python(`${runner}import os\nwhile True: os.write(1, b"\\0" + mark + b"." + ${bad} + b"\\0")`),
      ).rejects.toMatchObject({ code: 'CONTEXT_ENDED' })
    expect(await plain(python('2'))).toEqual(['2'])
  })

  test('invalid requests are refused', async () => {
    const post = async (body: object, path = '') => {
      const answer = await server.api(`workspaces/${name}/code${path}`, 'POST', body)
      return [answer.status, answer.body.error?.code]
    }
    expect(await post({})).toEqual([400, 'INVALID_REQUEST'])
    expect(await post({ code: '1', language: 'perl' })).toEqual([400, 'INVALID_REQUEST'])
    expect(await post({ code: '1', language: 'python', context: 'python' })).toEqual([400, 'INVALID_REQUEST'])
    expect(await post({ code: '1', context: 'none' })).toEqual([404, 'CONTEXT_NOT_FOUND'])
    expect(await post({ language: 'python', cwd: '/no/such' }, '/contexts')).toEqual([400, 'INVALID_REQUEST'])
    expect(await post({ language: 'python', env: { 'a=b': 'x' } }, '/contexts')).toEqual([
      400,
      'INVALID_REQUEST',
    ])
    await expect(workspace.code.deleteContext('a/b')).rejects.toMatchObject({ code: 'CONTEXT_NOT_FOUND' })
  })

  test('interpreters end with the workspace', async () => {
    const running = python('while True: pass')
    await waitFor('the interpreter', async () => (await workspace.code.contexts()).length > 0)
    await Promise.all([expect(running).rejects.toMatchObject({ code: 'CONTEXT_ENDED' }), workspace.stop()])
    await waitFor('its end', async () => (await workspace.code.contexts()).length === 0)
    await expect(python('1')).rejects.toMatchObject({ code: 'WORKSPACE_NOT_RUNNING' })
    await workspace.start()
    if (kind === 'fake') expect(await plain(python('1'))).toEqual(['1'])
  })
})
