import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { classText } from '../../../src/analyzer/diff/class-text.ts'
import { compareMembers } from '../../../src/analyzer/diff/compare-members.ts'
import { classFilesBelow, compiled } from '../../support/analyzer/javac.ts'
import { Random } from '../../support/differential/random.ts'
import { jdkRelease } from '../../support/analyzer/jdk.ts'
import { madeOnce } from '../../support/made-once.ts'
import { tempDir } from '../../support/temp-dir.ts'

const BASE = `package a;
import java.util.function.*;
@Deprecated class A {
  static final int K = 1;
  int field = 2;
  int number() { return 1; }
  long wide() { return 1L; }
  String text() { return "a"; }
  int branch(int x) { switch (x) { case 1: return 2; case 900: return 3; default: return x > 3 ? 4 : 5; } }
  IntSupplier lambda() { return () -> 7; }
  String joined(int x) { return "x" + x; }
  int caught() { try { return number(); } catch (RuntimeException e) { return 0; } }
  @Deprecated void annotated() {}
  void thrown() throws java.io.IOException {}
  <T extends Number> T generic(T t) { return t; }
}
`

/** Returns a folder with the compiled classes of a source text. */
function build(source: string, ...options: readonly string[]): string {
  return madeOnce('members', [jdkRelease(), source, ...options], (out) => compile(source, out, options))
}

function compile(source: string, out: string, options: readonly string[]): void {
  const root = tempDir()
  writeFileSync(join(root, 'A.java'), source)
  execFileSync('javac', ['-nowarn', '-d', out, ...options, join(root, 'A.java')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function changes(old: string, now: string) {
  const { classes, problems } = compareMembers({ old: [old], new: [now], release: 99 })
  expect(problems).toEqual([])
  return classes.flatMap(({ change, isHeaderChanged, members }) => [
    ...(isHeaderChanged ? [`class ${change}`] : []),
    ...members.map((member) => `${member.name} ${member.change}`),
  ])
}

test.each([
  ['return 1;', 'return 2;', ['number changed']],
  ['return 1L;', 'return 2L;', ['wide changed']],
  ['"a"', '"b"', ['text changed']],
  ['case 900', 'case 901', ['branch changed']],
  ['x > 3', 'x >= 3', ['branch changed']],
  ['() -> 7', '() -> 8', ['lambda$lambda$0 changed']],
  ['"x" + x', '"y" + x', ['joined changed']],
  ['RuntimeException', 'IllegalStateException', ['caught changed']],
  ['@Deprecated void', 'void', ['annotated changed']],
  ['java.io.IOException', 'Exception', ['thrown changed']],
  ['<T extends Number> T generic(T t)', 'Number generic(Number t)', ['generic changed']],
  ['int field = 2', 'int field = 3', ['<init> changed']],
  ['int field', 'long field', ['field removed', '<init> changed', 'field added']],
  ['K = 1', 'K = 2', ['K changed']],
  ['@Deprecated class', 'class', ['class changed']],
  ['class A', 'class A implements Runnable { public void run() {} } class B', undefined],
  ['void annotated() {}', 'void annotated() {} int more() { return 3; }', ['more added']],
])('%j instead of %j is found', { tags: ['long'] }, (from, to, expected) => {
  const found = changes(build(BASE), build(BASE.replace(from, to)))
  if (expected === undefined) expect(found).not.toEqual([])
  else expect(found.toSorted()).toEqual(expected.toSorted())
})

test('lines, names of variables and the order of constants are not changes', { tags: ['long'] }, () => {
  expect(changes(build(BASE), build(`\n\n// moved\n${BASE}`))).toEqual([])
  expect(changes(build(BASE), build(BASE, '-g'))).toEqual([])
  // Another first method has its constants first.
  const moved = BASE.replace('  String text() { return "a"; }\n', '').replace(
    '  int number()',
    '  String text() { return "a"; }\n  int number()',
  )
  expect(changes(build(BASE), build(moved))).toEqual([])
})

test('classes are compared by their names, wherever their folders are', () => {
  const old = tempDir()
  mkdirSync(join(old, 'module/target'), { recursive: true })
  execFileSync('cp', ['-r', build(BASE), join(old, 'module/target/classes')])
  expect(changes(old, build(BASE))).toEqual([])
})

test('what a compiler made and no longer exists is left out: the code that used it differs', () => {
  const old = `package a; class A {
    private A() {}
    enum Kind { ONE }
    static int of(Kind kind) { switch (kind) { case ONE: return 1; default: return 2; } }
    static class In { A make() { return new A(); } Runnable later() { return () -> of(null); } }
    static class Text implements java.util.function.Consumer<String> { public void accept(String text) {} }
  }`
  const now = `package a; class A {
    A() {}
    enum Kind { ONE }
    static int of(Kind kind) { return 1; }
    static class In { A make() { return new A(); } Runnable later() { return null; } }
    static class Text { public void accept(String text) {} }
  }`
  const { classes } = compareMembers({
    old: [build(old, '--release', '8')],
    new: [build(now, '--release', '8')],
    release: 99,
  })
  const found = classes.flatMap(({ classFqn, change, members }) => [
    `${classFqn} ${change}`,
    ...members.map((member) => `${member.name}${member.descriptor} ${member.change}`),
  ])
  expect(found.filter((each) => each.endsWith('removed'))).toEqual([])
  expect(found).toEqual(expect.arrayContaining(['a.A$Text changed', 'of(La/A$Kind;)I changed']))
})

test('a build without classes is refused', () => {
  expect(() => compareMembers({ old: [tempDir()], new: [build(BASE)], release: 99 })).toThrow(
    'contains no classes',
  )
})

test('every class of the fixtures can be read', { tags: ['long'] }, () => {
  for (const folder of readdirSync(join(import.meta.dirname, '../../fixtures/java')).slice(0, 6))
    for (const bytes of classFilesBelow(compiled(folder)).values())
      expect(classText(Buffer.from(bytes)).members.size).toBeGreaterThanOrEqual(0)
})

test('damaged class files are refused in time', { tags: ['long'] }, () => {
  const bytes = readFileSync(join(build(BASE), 'a/A.class'))
  const random = new Random(7)
  for (let round = 0; round < 3_000; round++) {
    const damaged = Buffer.from(bytes)
    for (let left = 1 + random.below(4); left > 0; left--)
      damaged[random.below(damaged.length)] = random.below(256)
    try {
      classText(damaged.subarray(0, random.chance(0.3) ? random.below(damaged.length) : undefined))
    } catch (error) {
      expect(error).toBeInstanceOf(Error)
    }
  }
})
