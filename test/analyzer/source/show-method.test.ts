import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { addLibrary, projectWithSources } from '../../support/analyzer/source-project.ts'

const root = projectWithSources('kinds')
let analyzer: TestAnalyzer
beforeAll(async () => {
  addLibrary(root, 'demo-2.0', 'demo', false)
  analyzer = await startAnalyzer(root)
})
afterAll(() => analyzer.stop())

const ask = (fqn: string, method: string, parameters: Readonly<Record<string, string | number>> = {}) =>
  analyzer.ask(`/source/${encodeURIComponent(fqn)}/method/${encodeURIComponent(method)}`, parameters)
const show = async (...asked: Parameters<typeof ask>) => {
  const { status, body } = await ask(...asked)
  expect(status, JSON.stringify(body)).toBe(200)
  return body.methodSource
}

test('a method is shown with its lines and signature', async () => {
  expect(await show('kinds.Point', 'sum', { context: 1 })).toEqual({
    classFqn: 'kinds.Point',
    methodName: 'sum',
    signature: 'int sum()',
    content: '    int sum() {\n        return x + y;\n    }',
    startLine: 8,
    endLine: 10,
    contextBefore: '',
    contextAfter: '}',
    sourceOrigin: 'PROJECT_SOURCE',
    filePath: `${root}/src/main/java/kinds/Point.java`,
  })
})

const overloads = [
  'void of(int a)',
  'void of(String a)',
  'void of(Map.Entry<String, List<T>> entry, int[]... rows)',
  '<K extends Comparable<K>> void of(T number, K[] keys)',
]

test('all overloads are shown, in the order of the text', async () => {
  const view = await show('kinds.Outer', 'of')
  expect(view.overloads.map((each: { signature: string }) => each.signature)).toEqual(overloads)
  expect(view.signature).toBe(overloads[0])
})

test.each([
  ['int', 0],
  ['String', 1],
  ['java.lang.String', 1],
  ['java.util.Map.Entry, int[][]', 2],
  ['Map$Entry<String, List<T>>,int[]...', 2],
  ['T, K[]', 3],
  ['java.lang.Number, java.lang.Comparable[]', 3],
])('--param-types %s is overload %i', async (paramTypes, place) => {
  const view = await show('kinds.Outer', 'of', { paramTypes })
  expect([view.signature, view.overloads]).toEqual([overloads[place], undefined])
})

describe('constructors', () => {
  test.each(['<init>', 'Outer'])('are found as %s', async (name) => {
    const { overloads: all } = await show('kinds.Outer', name)
    expect(all.map((each: { signature: string }) => each.signature)).toEqual([
      'public Outer()',
      'protected Outer(int size, T... rest)',
    ])
    expect(all[0].content).toBe('    /** Makes one. */\n    public Outer() {}')
    expect((await show('kinds.Outer', name, { paramTypes: '()' })).signature).toBe('public Outer()')
  })

  test('a compact constructor has the parameters of the record', async () => {
    expect((await show('kinds.Point', '<init>', { paramTypes: 'int,int' })).content).toContain(
      'public Point {',
    )
  })
})

test('methods of inner, anonymous, local and enum constants’ classes are found', async () => {
  expect((await show('kinds.Outer.Inner', 'name')).content.trim()).toBe(
    'String name() { return "😀 inner"; }',
  )
  expect((await show('kinds.Outer$1', 'run')).content).toContain('println("anonymous")')
  expect((await show('kinds.Outer$1Local', 'depth')).signature).toBe('int depth()')
  expect((await show('kinds.Outer$1Local$1', 'deep')).signature).toBe('int deep()')
  expect((await show('kinds.Shape$Corner$1', 'degrees')).content).toContain('return 90;')
  expect((await show('kinds.Beside', 'alone')).signature).toBe('void alone()')
  expect((await show('kinds.Outer', '<clinit>')).content).toContain('System.getProperty')
})

test('a method is shown with its lambda', async () => {
  expect((await show('kinds.Outer', 'lambda')).content).toContain('() -> size + 1;')
})

describe('in a decompiled class', () => {
  test('methods and constructors are found', { tags: ['long'] }, async () => {
    const view = await show('demo.Shapes$Square', 'local')
    expect(view).toMatchObject({ sourceOrigin: 'DECOMPILED', filePath: null })
    expect(view.content).toContain('class Local implements Runnable')
    expect((await show('demo.Shapes$Square$1Local', 'run')).content).toContain('public void run()')
    expect((await show('demo.Shapes$Odd$1', 'sides')).content).toContain('return 0;')
  })
})

describe('a missing method', () => {
  const reason = async (...asked: Parameters<typeof ask>) => {
    const { status, body } = await ask(...asked)
    expect(status).toBe(404)
    return [body.fqn, body.reason, body.message]
  }
  test('is reported by name', async () => {
    expect(await reason('kinds.Point', 'nope')).toEqual([
      'kinds.Point',
      'METHOD_NOT_FOUND',
      'kinds.Point has no method "nope"',
    ])
  })
  test('is reported with the existing overloads', async () => {
    const [, , message] = await reason('kinds.Outer', 'of', { paramTypes: 'long' })
    expect(message).toMatch(/with the parameters \(long\); existing overloads: \(int\) \(java.lang.String\)/)
  })
  test('is reported if the compiler generated it', async () => {
    const [, , message] = await reason('kinds.Point', 'hashCode')
    expect(message).toBe('"hashCode" of kinds.Point has no source: the compiler generated it')
  })
})
