import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { contentHash } from '../../../src/analyzer/classpath/content-hash.ts'
import { listClasses } from '../../../src/analyzer/classpath/list-classes.ts'
import { readClasses } from '../../../src/analyzer/classpath/read-classes.ts'
import { openFacts } from '../../../src/analyzer/bytecode/facts.ts'
import { readByOracle } from '../../oracle/read-classes.ts'
import { jdkHome } from '../../support/analyzer/jdk.ts'
import { classFilesBelow, compiled } from '../../support/analyzer/javac.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { zipOf, type ZipFile } from '../../support/analyzer/zip.ts'

const demo = () => [...classFilesBelow(compiled('demo'))].map(([name, bytes]) => ({ name, bytes }))
const demoNames = () =>
  demo()
    .map(({ name }) => name.slice(0, -'.class'.length))
    .toSorted()
const shape = () => demo().find(({ name }) => name === 'demo/Shapes.class') as ZipFile

function jarOf(files: readonly ZipFile[], options?: Parameters<typeof zipOf>[1]): string {
  const path = join(tempDir(), 'made.jar')
  writeFileSync(path, zipOf(files, options))
  return path
}

/** Names of the classes that both ways of reading find, or what they say. */
async function readBoth(path: string, release = 17): Promise<{ classes: string[]; messages: string[] }> {
  const { containers, problems } = listClasses(path, release)
  const classes: string[] = []
  const messages = problems.map(({ message }) => message)
  for (const container of containers) {
    const { facts, problems: diagnostics } = await readClasses(container)
    const oracle = await readByOracle(container, container.classes)
    const second = openFacts(oracle.buffer)
    const names = Array.from(facts.classes.name, (id) => facts.strings.get(id))
    expect(Array.from(second.classes.name, (id) => second.strings.get(id))).toEqual(names)
    expect(oracle.diagnostics.map(({ input }) => container.classes[input]?.file)).toEqual(
      diagnostics.map((fault) => fault.path.split('!/').at(-1)?.replace(`${container.path}/`, '')),
    )
    classes.push(...names)
    messages.push(...diagnostics.map(({ message }) => message))
  }
  return { classes, messages }
}

const manifest = (text: string): ZipFile => ({ name: 'META-INF/MANIFEST.MF', bytes: Buffer.from(text) })

describe('archives', () => {
  it.each([
    ['deflated', {}, {}],
    ['stored', { stored: true }, {}],
    ['streamed, with data descriptors', { descriptor: true }, {}],
    ['zip64 in every entry', { zip64: true }, {}],
    ['zip64 at the end', {}, { zip64: true }],
    ['behind other bytes', {}, { before: Buffer.from('#!/bin/sh\nexec java -jar "$0"\n') }],
  ])('are read when %s', async (_, each, options) => {
    const path = jarOf(
      demo().map((file) => ({ ...file, ...each })),
      options,
    )
    const { classes, messages } = await readBoth(path)
    expect(messages).toEqual([])
    expect(classes.toSorted()).toEqual(demoNames())
  })

  it('written by the jar tool are read', async () => {
    const path = join(tempDir(), 'tool.jar')
    execFileSync('jar', ['--create', '--file', path, '-C', compiled('demo'), '.'])
    expect((await readBoth(path)).classes).toHaveLength(demo().length)
  })

  it('provide the highest applicable release of a class with several', () => {
    const files = ['', 'META-INF/versions/9/', 'META-INF/versions/17/', 'META-INF/versions/21/'].map(
      (folder) => ({
        ...shape(),
        name: `${folder}demo/Shapes.class`,
      }),
    )
    const listed = (text: string, release: number) =>
      listClasses(jarOf([manifest(text), ...files]), release).containers[0]?.classes.map(
        (entry) => entry.release,
      )
    const yes = 'Manifest-Version: 1.0\r\nMulti-Release: TRUE\r\n\r\n'
    expect(listed(yes, 17)).toEqual([17])
    expect(listed(yes, 8)).toEqual([0])
    expect(listed('Manifest-Version: 1.0\n', 17)).toEqual([0])
    expect(listed('Manifest-Version: 1.0\n\nName: demo/\nMulti-Release: true\n', 17)).toEqual([0])
    // The JDK compares bytes, so a line that continues does not count.
    expect(listed('Manifest-Version: 1.0\r\nMulti-Rel\r\n ease: TRUE\r\n\r\n', 17)).toEqual([0])
  })

  it('inside archives are read, whether stored or deflated', async () => {
    const inner = zipOf([shape()])
    for (const stored of [true, false]) {
      const path = jarOf([
        { ...shape(), name: 'BOOT-INF/classes/demo/Shapes.class' },
        { name: 'BOOT-INF/lib/inner.jar', bytes: inner, stored },
        { name: 'resource/other.jar', bytes: inner, stored },
      ])
      const { containers } = listClasses(path, 17)
      expect(containers.map(({ inside }) => inside)).toEqual([[], ['BOOT-INF/lib/inner.jar']])
      expect(await readBoth(path)).toEqual({ classes: ['demo/Shapes', 'demo/Shapes'], messages: [] })
    }
  })

  it.each([
    ['app.war', ['WEB-INF/lib/inner.jar'], ['inner.jar', 'lib/deep/inner.jar']],
    [
      'app.ear',
      ['web.war', 'ejb.jar', 'lib/inner.jar', 'APP-INF/lib/inner.jar'],
      ['META-INF/inner.jar', 'x/web.war'],
    ],
    ['adapter.rar', ['inner.jar'], ['lib/deep/inner.jar', 'native.so']],
    ['library.aar', ['classes.jar', 'libs/inner.jar'], ['lint.jar', 'jni/x86/inner.jar']],
  ])('D11 inside %s are read where its format has classes', async (name, read, ignored) => {
    const path = join(tempDir(), name)
    const inner = zipOf([shape()])
    writeFileSync(path, zipOf([...read, ...ignored].map((each) => ({ name: each, bytes: inner }))))
    const { containers } = listClasses(path, 17)
    expect(containers.map(({ inside }) => inside.join())).toEqual(['', ...read])
    expect(await readBoth(path)).toEqual({ classes: read.map(() => 'demo/Shapes'), messages: [] })
  })

  it('D11 inside the web archive of an EAR are read, or reported if both are deflated', async () => {
    const path = join(tempDir(), 'app.ear')
    for (const stored of [true, false]) {
      const war = zipOf([
        { ...shape(), name: 'WEB-INF/classes/demo/Shapes.class' },
        { name: 'WEB-INF/lib/inner.jar', bytes: zipOf([shape()]) },
      ])
      writeFileSync(path, zipOf([{ name: 'web.war', bytes: war, stored }]))
      expect(await readBoth(path)).toEqual({
        classes: stored ? ['demo/Shapes', 'demo/Shapes'] : ['demo/Shapes'],
        messages: stored
          ? []
          : [expect.stringContaining('inner.jar is a deflated archive inside a deflated archive')],
      })
    }
  })

  it('report what cannot be read, and provide the rest', async () => {
    const path = jarOf([
      shape(),
      { ...shape(), name: 'demo/Secret.class', flags: 1 },
      { ...shape(), name: 'demo/Changed.class', claims: { crc: 1 } },
      { ...shape(), name: 'demo/Shorter.class', claims: { bytes: 10 } },
      { ...shape(), name: 'demo/Other.class', claims: { method: 12 } },
      { name: 'demo/Text.class', bytes: Buffer.from('no class') },
    ])
    const { classes, messages } = await readBoth(path)
    expect(classes).toEqual(['demo/Shapes'])
    expect(messages).toEqual([
      'it is encrypted',
      'its checksum does not match',
      'it does not inflate to its declared size',
      'its compression method is neither stored nor deflated',
      'the first four bytes are not CAFEBABE',
    ])
  })

  it('A2 use the last of several entries with one name, and report them', () => {
    const last = { ...shape(), bytes: Buffer.from('last') }
    const { containers, problems } = listClasses(jarOf([shape(), last, manifest(''), shape(), last]), 17)
    expect(containers[0]?.classes.map(({ bytes }) => bytes)).toEqual([last.bytes.length])
    expect(problems).toEqual([
      {
        path: expect.stringMatching(/!\/demo\/Shapes\.class$/),
        offset: 0,
        message: 'the archive has this entry and 2 others more than once; the last is read, as by a JVM',
      },
    ])
  })

  it.each([
    ['demo/Shapes.class/', 1, []],
    ...['demo//Shapes.class', '/demo/Shapes.class', './demo/Shapes.class', 'x/../demo/Shapes.class'].map(
      (name) => [name, 0, ['1 class files are left out, because no JVM finds their names']] as const,
    ),
  ] as const)('A3 an entry "%s" is read as by a JVM', (name, count, expected) => {
    const { containers, problems } = listClasses(jarOf([{ ...shape(), name }]), 17)
    expect(containers[0]?.classes).toHaveLength(count)
    expect(problems.map(({ message }) => message.split(',').slice(0, 2).join(','))).toEqual(expected)
  })

  it('A3 report a class whose name is not that of its entry', async () => {
    const path = jarOf([{ ...shape(), name: 'demo/Forms.class' }])
    const [container] = listClasses(path, 17).containers
    if (container === undefined) throw new Error('the archive has no classes')
    const { facts, problems } = await readClasses(container)
    expect(facts.classes.count).toBe(0)
    expect(problems.map(({ message }) => message)).toEqual([
      'its class is demo/Shapes, which no JVM finds under this name',
    ])
  })

  it('A1 are rejected when entries overlap, as is a class that claims to be large', async () => {
    const overlapping = jarOf([shape(), { ...shape(), name: 'demo/Again.class', claims: { offset: 0 } }])
    expect((await readBoth(overlapping)).messages).toEqual([expect.stringContaining('overlaps')])
    const bomb = jarOf([{ name: 'demo/Bomb.class', bytes: Buffer.alloc(2 ** 24 + 1) }])
    expect((await readBoth(bomb)).messages).toEqual(['it exceeds the size limit'])
  })

  it('A1 are rejected when they have too many entries for their size, including nested archives', () => {
    const many = (count: number, prefix: string): readonly ZipFile[] =>
      Array.from({ length: count }, (_, i) => ({
        name: `${prefix}${i}.class`,
        bytes: Buffer.from([1]),
        stored: true,
      }))
    const [problem] = listClasses(jarOf(many(17_000, 'a/A')), 17).problems
    expect(problem?.message).toBe('it has 17000 entries, more than the limit of 16384')
    const jar = jarOf([...many(10_000, 'a/A'), { name: 'lib/b.jar', bytes: zipOf(many(7_000, 'b/B')) }])
    const { containers, problems } = listClasses(jar, 17)
    expect(containers.map(({ classes }) => classes.length)).toEqual([10_000])
    expect(problems.map(({ message }) => message)).toEqual([
      'it has 7000 entries, more than the limit of 6383',
    ])
  })

  it('A1 are rejected when their classes would inflate to many times their size', async () => {
    const bytes = Buffer.alloc(2 ** 20)
    const bomb = jarOf(Array.from({ length: 65 }, (_, i) => ({ name: `demo/Bomb${i}.class`, bytes })))
    expect((await readBoth(bomb)).messages).toEqual([
      expect.stringMatching(/^its classes would inflate to 68157440 bytes, \d{3} times its size$/),
    ])
  })

  it('are one problem when they are invalid, truncated or missing', async () => {
    const jar = jarOf([shape()])
    const whole = zipOf([shape()])
    for (let bytes = 0; bytes < whole.length; bytes += 7) {
      writeFileSync(jar, whole.subarray(0, bytes))
      expect((await readBoth(jar)).messages).toHaveLength(1)
    }
    expect(listClasses(join(jar, '../missing.jar'), 17).problems).toHaveLength(1)
  })

  it('F35 that are truncated after they were listed are problems', async () => {
    const path = jarOf(demo())
    const [container] = listClasses(path, 17).containers
    truncateSync(path, 100)
    const { facts, problems } = await readClasses(container!)
    expect(facts.classes.count).toBe(0)
    expect(problems).toHaveLength(demo().length)
    expect(problems[0]?.path).toBe(`${path}!/demo/Calls$Fluent.class`)
  })
})

describe('folders', () => {
  it('list their classes in order, with an identity that changes with the file', async () => {
    const folder = join(tempDir(), 'classes')
    cpSync(compiled('demo'), folder, { recursive: true })
    symlinkSync(folder, join(folder, 'round'))
    const { classes } = await readBoth(folder)
    expect(classes).toEqual(demoNames())
    const identities = () =>
      listClasses(folder, 17).containers[0]?.classes.map(({ identity }) => identity) ?? []
    const before = identities()
    utimesSync(join(folder, 'demo/Shapes.class'), 1, 2)
    expect(identities().filter((identity, i) => identity !== before[i])).toHaveLength(1)
  })

  it('report which class file is damaged', async () => {
    const folder = tempDir()
    mkdirSync(join(folder, 'demo'))
    writeFileSync(join(folder, 'demo/Cut.class'), shape().bytes.subarray(0, 100))
    const [container] = listClasses(folder, 17).containers
    const { problems } = await readClasses(container!)
    expect(problems).toEqual([
      {
        path: `${folder}!/demo/Cut.class`,
        offset: expect.any(Number) as number,
        message: expect.any(String) as string,
      },
    ])
  })
})

describe('the JDK', () => {
  it('provides its classes from lib/modules, with their modules', async () => {
    const [image] = listClasses(join(jdkHome(), 'lib/modules'), 17).containers
    const string = image?.classes.filter(({ name }) => name === 'java/lang/String') ?? []
    expect(string.map(({ module }) => module)).toEqual(['java.base'])
    const { facts, problems } = await readClasses(image!, string)
    expect(problems).toEqual([])
    expect(facts.strings.get(facts.classes.name[0] ?? -1)).toBe('java/lang/String')
  })

  it('provides the same class from a jmod', async () => {
    const [jmod, ...others] = listClasses(join(jdkHome(), 'jmods/java.base.jmod'), 17).containers
    const string = jmod?.classes.filter(({ name }) => name === 'java/lang/String') ?? []
    expect(others).toEqual([])
    const { facts } = await readClasses(jmod!, string)
    expect(facts.calls.count).toBeGreaterThan(100)
  })
})

it('contentHash returns the SHA-256 of the file', () => {
  const path = join(tempDir(), 'file')
  writeFileSync(path, Buffer.alloc(2 ** 20 + 5, 'x'))
  appendFileSync(path, 'end')
  const [expected] = execFileSync('sha256sum', [path], { encoding: 'utf8' }).split(' ')
  expect(contentHash(path)).toBe(expected)
})
