import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAnalyzer, type TestAnalyzer } from '../../support/analyzer/analyzer-server.ts'
import { jdkWithSources } from '../../support/analyzer/jdk.ts'
import { addLibrary, projectWithSources } from '../../support/analyzer/source-project.ts'

const root = projectWithSources('kinds')
let analyzer: TestAnalyzer
beforeAll(async () => {
  addLibrary(root, 'shop-1.0', 'shop', true)
  addLibrary(root, 'demo-2.0', 'demo', false)
  analyzer = await startAnalyzer(root, { ANALYZER_JVM_HOME: jdkWithSources() })
})
afterAll(() => analyzer.stop())

type Parameters = Readonly<Record<string, string | number | boolean>>
const show = async (fqn: string, parameters: Parameters = {}) =>
  (await analyzer.get(`/source/${encodeURIComponent(fqn)}`, parameters)).source
const refused = async (fqn: string, parameters: Parameters = {}) =>
  analyzer.ask(`/source/${encodeURIComponent(fqn)}`, parameters)

/** Returns the lines of a view from its startLine to its endLine. */
function ownLines({ content, startLine, endLine }: { content: string; startLine: number; endLine: number }) {
  return content.split('\n').slice(startLine - 1, endLine)
}

describe('a class of the project', () => {
  test('is shown as its file, with the lines of the class', async () => {
    const file = join(root, 'src/main/java/kinds/Outer.java')
    const content = readFileSync(file, 'utf8')
    expect(await show('kinds.Outer')).toEqual({
      fqn: 'kinds.Outer',
      filePath: file,
      language: 'java',
      content,
      lineCount: content.split('\n').length - 1,
      module: 'shop',
      sourceOrigin: 'PROJECT_SOURCE',
      mavenCoordinates: null,
      isDecompiled: false,
      format: 'full',
      startLine: 10,
      endLine: 54,
    })
  })

  test.each([
    ['kinds.Outer$Inner', 'public static class Inner {'],
    ['kinds.Outer.Inner', 'public static class Inner {'],
    ['kinds.Outer$1', '        return new Runnable() {'],
    ['kinds.Outer$1Local', '        class Local {'],
    [
      'kinds.Outer$1Local$1',
      '            int depth() { return new Object() { int deep() { return 2; } }.deep(); }',
    ],
    ['kinds.Beside', 'class Beside {'],
    ['kinds.Point', 'public record Point(int x, int y) {'],
    ['kinds.Shape', 'public sealed interface Shape permits Shape.Circle, Shape.Square {'],
    ['kinds.Shape$Corner$1', '        SHARP {'],
  ])('%s starts at %s', async (fqn, line) => {
    const view = await show(fqn)
    expect(view.sourceOrigin).toBe('PROJECT_SOURCE')
    expect(ownLines(view)[0]?.trim()).toBe(line.trim())
  })

  test(
    'is decompiled if the project has no source, with lambdas, records and sealed types',
    { tags: ['long'] },
    async () => {
      const sources = join(root, 'src')
      const kept = join(root, '.kept')
      execFileSync('mv', [sources, kept])
      try {
        const outer = await show('kinds.Outer')
        expect(outer).toMatchObject({ sourceOrigin: 'DECOMPILED', isDecompiled: true, filePath: null })
        expect(outer.content).toContain('return () -> 4;')
        expect(outer.content).toContain('public static class Inner')
        expect(outer.content).toContain('new Runnable()')
        expect((await show('kinds.Point')).content).toContain('public record Point(int x, int y)')
        expect((await show('kinds.Shape')).content).toMatch(
          /sealed interface Shape permits Shape.Circle, Shape.Square/,
        )
        const corner = await show('kinds.Shape$Corner')
        expect(ownLines(corner)[0]).toContain('enum Corner')
        expect(await refused('kinds.Point', { allowDecompilation: false })).toEqual({
          status: 404,
          body: {
            error: true,
            code: 404,
            type: 'NotFound',
            fqn: 'kinds.Point',
            reason: 'FILE_NOT_FOUND',
            message: 'kinds.Point has no source in the project',
          },
        })
      } finally {
        execFileSync('mv', [kept, sources])
      }
    },
  )

  test('is not read through a link that points outside of the project', async () => {
    const file = join(root, 'src/main/java/kinds/Point.java')
    const outside = join(root, '../Point.java')
    execFileSync('mv', [file, outside])
    symlinkSync(outside, file)
    try {
      expect(await show('kinds.Point')).toMatchObject({ sourceOrigin: 'DECOMPILED' })
    } finally {
      rmSync(file)
      execFileSync('mv', [outside, file])
    }
  })

  test('is found in a folder unknown to build tools', async () => {
    const file = join(root, 'src/main/java/kinds/Point.java')
    const odd = join(root, 'code/here/kinds')
    mkdirSync(odd, { recursive: true })
    execFileSync('mv', [file, odd])
    try {
      expect((await show('kinds.Point')).filePath).toBe(join(odd, 'Point.java'))
    } finally {
      execFileSync('mv', [join(odd, 'Point.java'), file])
    }
  })
})

describe('a class of a library', () => {
  test('is shown from the source archive next to it', async () => {
    const view = await show('shop.model.Order')
    expect(view).toMatchObject({ sourceOrigin: 'SOURCE_JAR', isDecompiled: false })
    expect(view.filePath).toBe(join(root, 'lib/shop-1.0-sources.jar!/shop/model/Order.java'))
  })

  test('is decompiled without one', async () => {
    const view = await show('demo.Shapes')
    expect(view).toMatchObject({ sourceOrigin: 'DECOMPILED', isDecompiled: true, module: null })
    expect(view.content).toContain('sealed interface Shapes permits Shapes.Circle, Shapes.Square, Shapes.Odd')
  })

  test('is an error without one if decompiling is not allowed', async () => {
    const { status, body } = await refused('demo.Shapes', { allowDecompilation: false })
    expect(status).toBe(404)
    expect(body).toMatchObject({ fqn: 'demo.Shapes', reason: 'LIBRARY_CLASS' })
  })
})

describe('a class of the JDK', () => {
  test('is shown from src.zip', async () => {
    const view = await show('java.util.Map.Entry')
    expect(view).toMatchObject({
      sourceOrigin: 'JDK_SOURCE',
      module: 'java.base',
      fqn: 'java.util.Map$Entry',
    })
    expect(view.filePath).toMatch(/src\.zip!\/java\.base\/java\/util\/Map\.java$/)
    expect(ownLines(view)[0]).toContain('interface Entry<K, V> {')
  })
})

test('a missing class is reported with its name and the reason', async () => {
  expect(await refused('no.Such')).toMatchObject({
    status: 404,
    body: { error: true, code: 404, type: 'NotFound', fqn: 'no.Such', reason: 'CLASS_NOT_FOUND' },
  })
})

test('an invalid query is rejected', async () => {
  const { status, body } = await refused('kinds.Point', { format: 'whole' })
  expect([status, body.message]).toEqual([
    400,
    '"format" must be one of full, stub, signatures, javadoc, not "whole"',
  ])
  expect((await refused('kinds.Point', { lang: 'cobol' })).status).toBe(400)
})

describe('excerpts', () => {
  test('a stub has documentation and declarations, and no code', async () => {
    const { content, sourceOrigin } = await show('kinds.Outer', { format: 'stub', visibility: 'protected' })
    expect(sourceOrigin).toBe('PROJECT_SOURCE')
    expect(content).toBe(`/**
 * Holds one of each.
 */
public class Outer<T extends Number> {
    /** Makes one. */
    public Outer() { }
    protected Outer(int size, T... rest) { }
    /** The inner one. Ümlaut, 漢字 and 😀 precede code. */
    public static class Inner {
    }
    public Runnable anonymous() { }
    public Object two() { }
}`)
  })

  test('signatures take one line each', async () => {
    const { content } = await show('kinds.Shape.Corner', { format: 'signatures' })
    expect(content.split('\n')).toEqual(['enum Corner', 'SHARP', 'ROUND', 'int degrees()'])
    const outer = (await show('kinds.Outer', { format: 'signatures' })).content.split('\n')
    expect(outer).toContain('<K extends Comparable<K>> void of(T number, K[] keys)')
    expect(outer).toContain('private final int size')
  })

  test('javadoc has only documented members', async () => {
    const { content } = await show('kinds.Outer', { format: 'javadoc' })
    expect(content).toContain('/** Makes one. */\n    public Outer() { }')
    expect(content).not.toContain('anonymous')
    expect(await refused('demo.Shapes', { format: 'javadoc' })).toMatchObject({
      status: 404,
      body: { reason: 'LIBRARY_CLASS' },
    })
  })

  test('are rendered from the class file without source', async () => {
    const { content, isDecompiled } = await show('demo.Shapes$Circle', {
      format: 'stub',
      visibility: 'package',
    })
    expect(isDecompiled).toBe(true)
    expect(content.split('\n').slice(0, 4)).toEqual([
      'package demo;',
      '',
      expect.stringMatching(
        /record Circle\(double radius, java.util.List names\) implements demo.Shapes \{$/,
      ),
      '    public Circle(double radius, java.util.List names) { }',
    ])
    const lines = (await show('demo.Shapes', { format: 'signatures' })).content.split('\n')
    expect(lines[0]).toMatch(/^sealed interface Shapes permits demo.Shapes\$Circle/)
  })
})

test('a damaged source archive is skipped', async () => {
  const archive = join(root, 'lib/shop-1.0-sources.jar')
  const bytes = readFileSync(archive)
  writeFileSync(archive, bytes.subarray(0, bytes.length / 2))
  try {
    expect(await show('shop.model.Item')).toMatchObject({ sourceOrigin: 'DECOMPILED' })
  } finally {
    writeFileSync(archive, bytes)
  }
})
