import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../../../support/analyzer/analyzer-server.ts'
import { lineFinder } from '../../../support/analyzer/fixture-line.ts'

let analyzer: TestAnalyzer
beforeAll(async () => {
  analyzer = await startAnalyzer(projectOf('paths'))
})
afterAll(() => analyzer.stop())

type Parameters = Readonly<Record<string, string | number | boolean>>

const ask = (from: string, to: string, parameters: Parameters = {}) =>
  analyzer.get('/path', { from, to, ...parameters })

/** "caller:line reason> callee …" for each path. */
async function pathsOf(from: string, to: string, parameters: Parameters = {}): Promise<readonly string[]> {
  const { paths } = await ask(from, to, parameters)
  return paths.map(({ steps }: any) =>
    steps
      .map(({ methodName, lineNumber, reason, calleeName }: any, at: number) =>
        [...(at === 0 ? [methodName] : []), `(${reason} @${lineNumber})`, calleeName].join(' '),
      )
      .join(' '),
  )
}

const line = lineFinder('paths/paths/Tasks.java')
const lineOfTask = lineFinder('paths/paths/Task.java')
const lineOfDiamond = lineFinder('paths/paths/Diamond.java')
const lineOfCycles = lineFinder('paths/paths/Cycles.java')

describe('an edge of a path', () => {
  test('has the fields of a caller, the called method and the reason', async () => {
    const { paths, ...rest } = await ask('paths.Tasks#dispatched', 'paths.Tasks#log', { limit: 1 })
    expect(paths).toEqual([
      {
        length: 2,
        steps: [
          {
            classFqn: 'paths.Tasks',
            classSimpleName: 'Tasks',
            classSource: 'PROJECT',
            methodName: 'dispatched',
            methodDescriptor: '(Lpaths/Task;)V',
            ownerType: 'paths.Task',
            descriptor: '()V',
            lineNumber: line('dispatched'),
            via: 'call',
            reason: 'override of paths.Task#run',
            calleeFqn: 'paths.Tasks$Loud',
            calleeSource: 'PROJECT',
            calleeName: 'run',
          },
          {
            classFqn: 'paths.Tasks$Loud',
            classSimpleName: 'Loud',
            classSource: 'PROJECT',
            methodName: 'run',
            methodDescriptor: '()V',
            ownerType: 'paths.Tasks',
            descriptor: '()V',
            lineNumber: line('loud'),
            via: 'call',
            reason: 'direct call',
            calleeFqn: 'paths.Tasks',
            calleeSource: 'PROJECT',
            calleeName: 'log',
          },
        ],
      },
    ])
    expect(rest).toEqual({
      from: 'paths.Tasks#dispatched',
      to: 'paths.Tasks#log',
      visitedCount: expect.any(Number),
      isCut: false,
      note: expect.stringMatching(
        /^1 path, the shortest; searched \d+ methods that reach paths\.Tasks#log, without libraries and the JDK; there may be more$/,
      ),
      appliedFilter: { limit: 1, maxDepth: 20, includeLibraries: false },
    })
  })

  test('goes to overrides, also through an override that calls super', async () => {
    expect(await pathsOf('Tasks#dispatched', 'Tasks#log')).toEqual([
      `dispatched (override of paths.Task#run @${line('dispatched')}) run (direct call @${line('loud')}) log`,
      `dispatched (override of paths.Task#run @${line('dispatched')}) run (direct call @${line('super')}) run (direct call @${line('loud')}) log`,
    ])
  })

  test('goes to the named method and its overrides alone: invokespecial reaches no override', async () => {
    expect(await pathsOf('Tasks#exactly', 'Tasks$Louder#run')).toEqual([
      // The receiver's class is not followed: run() is dispatched on Loud.
      `exactly (override of paths.Tasks$Loud#run @${line('exactly')}) run`,
    ])
    expect(await pathsOf('Tasks$Louder#run', 'Tasks$Louder#run')).toEqual([])
  })

  test('goes to a method that a subtype inherits from elsewhere', async () => {
    expect(await pathsOf('Tasks#dispatched', 'Tasks$Quiet#whisper')).toEqual([
      `dispatched (override of paths.Task#run @${line('dispatched')}) run (direct call @${line('quiet')}) whisper`,
    ])
    expect(await pathsOf('Tasks#inherited', 'Tasks$Quiet#run')).toEqual([
      `inherited (direct call @${line('inherited')}) run`,
    ])
  })

  test('goes through default methods, of which the most specific counts', async () => {
    expect(await pathsOf('Tasks#defaults', 'Tasks#log', { limit: 1 })).toEqual([
      `defaults (direct call @${line('defaults')}) twice (override of paths.Task#run @${lineOfTask('default')}) run (direct call @${line('loud')}) log`,
    ])
    const [first] = await pathsOf('Diamond#through', 'Cycles#right')
    expect(first).toBe(
      `through (direct call @${lineOfDiamond('through')}) act (direct call @${lineOfDiamond('side')}) right`,
    )
    // Bottom never calls Top's method.
    expect((await pathsOf('Diamond#through', 'Cycles#left')).map((path) => path.includes('right'))).toEqual([
      true,
    ])
  })

  test('omits the bridge that dispatches a generic method', async () => {
    expect(await pathsOf('Diamond#compared', 'Tasks#log')).toEqual([
      `compared (override of java.lang.Comparable#compareTo @${lineOfDiamond('compared')}) compareTo (direct call @${lineOfDiamond('name')}) log`,
    ])
  })

  test('goes to overrides of a method of the JDK', async () => {
    expect(await pathsOf('Diamond#shown', 'Cycles#end')).toEqual([
      `shown (override of java.lang.Object#toString @${lineOfDiamond('shown')}) toString (direct call @${lineOfDiamond('text')}) end`,
    ])
  })

  test('goes to what lambdas call and to referenced methods', async () => {
    expect(await pathsOf('Tasks#lambda', 'Tasks#log')).toEqual([
      `lambda (direct call, in a lambda @${line('lambda')}) log`,
    ])
    expect(await pathsOf('Tasks#nested', 'Tasks#log')).toEqual([
      expect.stringMatching(/^nested \(method reference, in a lambda @\d+\) log$/),
    ])
    expect(await pathsOf('Tasks#reference', 'Tasks#log')).toEqual([
      `reference (method reference @${line('reference')}) log`,
    ])
    expect(await pathsOf('Tasks#references', 'Tasks$Loud#run')).toContain(
      `references (method reference, override of paths.Task#run @${line('references')}) run`,
    )
    expect(await pathsOf('Tasks#constructor', 'Tasks#<init>')).toEqual([
      `constructor (method reference @${line('constructor')}) <init>`,
    ])
  })
})

describe('paths', () => {
  test('are shortest first, then sorted, and at most as many as requested', async () => {
    const all = await ask('Cycles#fork', 'Cycles#end')
    expect(all.paths.map(({ length }: any) => length)).toEqual([1, 2, 3])
    expect(all.note).toBe(
      '3 paths of at most 20 calls; searched 3 methods that reach paths.Cycles#end, without libraries and the JDK'.replace(
        '3 methods',
        `${all.visitedCount} methods`,
      ),
    )
    expect(all.isCut).toBe(false)
    const two = await ask('Cycles#fork', 'Cycles#end', { limit: 2 })
    expect(two.paths).toEqual(all.paths.slice(0, 2))
    expect(await ask('Cycles#fork', 'Cycles#end')).toEqual(all)
  })

  test('contain no method twice, except that they may end where they start', async () => {
    expect(await pathsOf('Cycles#itself', 'Cycles#itself')).toEqual([
      `itself (direct call @${lineOfCycles('itself')}) itself`,
    ])
    expect(await pathsOf('Cycles#even', 'Cycles#even')).toEqual([
      `even (direct call @${lineOfCycles('even')}) odd (direct call @${lineOfCycles('odd')}) even`,
    ])
    expect(await pathsOf('Cycles#even', 'Cycles#end')).toHaveLength(1)
    expect((await ask('Cycles#one', 'Cycles#itself')).paths.map(({ length }: any) => length)).toEqual([3])
    expect(await pathsOf('Tasks#unused', 'Tasks#unused')).toEqual([])
  })

  test('start at any method of a class, and end at any method of a class', async () => {
    const { paths } = await ask('Tasks', 'Cycles', { limit: 100 })
    expect(paths).toEqual([])
    const between = await ask('Diamond$Name', 'Tasks')
    expect(between).toMatchObject({ from: 'paths.Diamond$Name', to: 'paths.Tasks' })
    // Not through the bridge, which is a method of the class too.
    expect(between.paths.map(({ steps }: any) => steps.map(({ calleeName }: any) => calleeName))).toEqual([
      ['log'],
    ])
  })

  test(
    'follow libraries only on request, and a note reports what was searched',
    { tags: ['long'] },
    async () => {
      const [from, to] = ['paths.Tasks#throughLibrary', 'java.util.Objects#requireNonNull']
      const without = await ask(from, to)
      expect(without).toMatchObject({ paths: [], isCut: false })
      expect(without.note).toMatch(
        /^no path of at most 20 calls; searched \d+ methods that reach java\.util\.Objects#requireNonNull, without libraries and the JDK$/,
      )
      const through = await ask(from, to, { limit: 1, includeLibraries: true })
      const { steps } = through.paths[0]
      expect(steps[0]).toMatchObject({
        classSource: 'PROJECT',
        calleeFqn: 'java.util.Optional',
        calleeName: 'of',
      })
      expect(steps.at(-1)).toMatchObject({ classSource: 'JDK', calleeName: 'requireNonNull' })
      expect(through.note).not.toContain('without')
    },
  )

  test('start in a library too', async () => {
    const { paths } = await ask('java.util.Optional', 'java.util.Objects#requireNonNull', { limit: 1 })
    expect(paths).toMatchObject([
      { length: 1, steps: [{ classFqn: 'java.util.Optional', classSource: 'JDK' }] },
    ])
  })

  test('are searched while other requests are answered', { tags: ['long'] }, async () => {
    const headers = { authorization: `Bearer ${analyzer.token}` }
    const state = { isFound: false, answered: 0 }
    const search = ask('Tasks#unused', 'java.lang.Object#toString', { includeLibraries: true })
    const found = search.finally(() => (state.isFound = true))
    while (!state.isFound) {
      expect((await fetch(`${analyzer.url}/admin/health`, { headers })).status).toBe(200)
      state.answered++
    }
    expect((await found).visitedCount).toBeGreaterThan(1_000)
    // A search in one turn lets at most the requests before and after it be answered.
    expect(state.answered).toBeGreaterThan(5)
  })

  test('are refused with SEARCH_BUSY when too many searches wait, until their clients leave', async () => {
    const headers = { authorization: `Bearer ${analyzer.token}` }
    const url = `${analyzer.url}/api/v1/path?from=Tasks%23unused&to=java.lang.Object%23toString&includeLibraries=true`
    const clients = new AbortController()
    const searches = Array.from({ length: 18 }, () => fetch(url, { headers, signal: clients.signal }))
    const settled = Promise.allSettled(searches)
    let refused = await fetch(url, { headers })
    // The requests arrive on several connections.
    while (refused.status === 200) refused = await fetch(url, { headers })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
    expect(await refused.json()).toMatchObject({
      type: 'Unavailable',
      message: expect.stringMatching(/^too many searches/),
    })
    clients.abort()
    await settled
    let answer = await analyzer.ask('/path', { from: 'Tasks#references', to: 'java.util.List#forEach' })
    while (answer.status === 503)
      answer = await analyzer.ask('/path', { from: 'Tasks#references', to: 'java.util.List#forEach' })
    expect(answer.body.paths).toHaveLength(1)
  })

  test('to a method of a library end at the call', async () => {
    expect(await pathsOf('Tasks#references', 'java.util.List#forEach')).toEqual([
      `references (direct call @${line('references')}) forEach`,
    ])
  })
})

describe('a bound', () => {
  test('on the depth is reported, and never looks like no path', async () => {
    const cut = await ask('Cycles#one', 'Cycles#itself', { maxDepth: 2 })
    expect(cut).toMatchObject({ paths: [], isCut: true })
    expect(cut.note).toMatch(/^no path of at most 2 calls; .*; there may be longer ones$/)
  })
})

describe('an end of a path', () => {
  test.each([
    ['paths.Nothing', 'paths.Tasks', 404, /^class "paths\.Nothing" is not in the project/],
    ['paths.Tasks', 'paths.Task$Nothing', 404, /^class "paths\.Task\$Nothing" is not/],
    ['paths.Tasks#lgo', 'paths.Tasks', 404, /did you mean paths\.Tasks#log\?$/],
    ['paths.Tasks', 'paths.Tasks#nothing', 404, /^neither paths\.Tasks nor a supertype declares/],
    ['paths.Diamond$Name', 'paths.Diamond$Name#value', 404, /declares a method "value"/],
    ['#log', 'paths.Tasks', 400, /^"#log" is not a class or method; write a class or owner#method/],
    ['paths.Tasks', '', 400, /^"" is not a class or method/],
  ])('%s → %s is %i', async (from, to, expected, message) => {
    const { status, body } = await analyzer.ask('/path', { from, to })
    expect([status, body.message]).toEqual([expected, expect.stringMatching(message)])
  })

  test.each([
    [{ from: 'paths.Tasks' }, /^"to" is missing/],
    [{ from: 'a', to: 'b', limit: 0 }, /limit/],
    [{ from: 'a', to: 'b', limit: -1 }, /limit/],
    [{ from: 'a', to: 'b', maxDepth: 0 }, /maxDepth/],
    [{ from: 'a', to: 'b', depth: 3 }, /depth/],
  ] as readonly (readonly [Parameters, RegExp])[])('%j is a BadRequest', async (parameters, message) => {
    const { status, body } = await analyzer.ask('/path', parameters)
    expect([status, body.type, body.message]).toEqual([400, 'BadRequest', expect.stringMatching(message)])
  })

  test('without code is reported', async () => {
    expect(await ask('Task#run', 'Tasks#log')).toMatchObject({
      paths: [],
      note: 'paths.Task#run has no code: name a class that implements it',
    })
  })

  test('may be a method of a class that is not on the class path', { tags: ['long'] }, async () => {
    const root = projectOf('paths')
    rmSync(join(root, 'target/classes/paths/Cycles.class'))
    const lacking = await startAnalyzer(root)
    onTestFinished(() => lacking.stop())
    const { paths } = await lacking.get('/path', { from: 'Diamond$Name#toString', to: 'Cycles#end' })
    expect(paths).toMatchObject([
      { length: 1, steps: [{ reason: 'direct call', calleeFqn: 'paths.Cycles', calleeSource: 'UNKNOWN' }] },
    ])
    const all = await lacking.get('/path', { from: 'paths.Diamond$Name', to: 'paths.Cycles' })
    expect(all.paths).toEqual(paths)
    const from = await lacking.ask('/path', { from: 'paths.Cycles', to: 'paths.Tasks' })
    expect([from.status, from.body.message]).toEqual([
      404,
      expect.stringMatching(/is not on the class path$/),
    ])
  })
})
