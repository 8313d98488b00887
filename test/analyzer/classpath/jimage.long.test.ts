import { execFileSync } from 'node:child_process'
import { copyFileSync, openSync, closeSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listClasses } from '../../../src/analyzer/classpath/list-classes.ts'
import { readClassBytes } from '../../../src/analyzer/classpath/read-class-bytes.ts'
import { readClasses } from '../../../src/analyzer/classpath/read-classes.ts'
import { jdkHome, jdkRelease, smallJdk } from '../../support/analyzer/jdk.ts'
import { madeOnce } from '../../support/made-once.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Returns an image of java.base that jlink compresses. */
function compressed(level: '1' | '2'): string {
  const folder = madeOnce(`jdk-compress-${level}`, [jdkRelease()], (out) => {
    const argv = ['--add-modules', 'java.base', `--compress=${level}`, '--output', join(out, 'jdk')]
    execFileSync(join(jdkHome(), 'bin/jlink'), argv)
  })
  return join(folder, 'jdk/lib/modules')
}

function listed(image: string) {
  const { containers, problems } = listClasses(image, 17)
  const [container] = containers
  if (container === undefined) throw new Error(`${image}: ${JSON.stringify(problems)}`)
  return { container, problems, classes: container.classes }
}

test('classes that jlink compressed are read like those of an image without compression', async () => {
  const plain = listed(join(smallJdk(), 'lib/modules'))
  const zipped = listed(compressed('2'))
  expect(zipped.problems).toEqual([])
  const byFile = new Map(plain.classes.map((each) => [each.file, each]))
  expect(zipped.classes.map(({ file }) => file).toSorted()).toEqual([...byFile.keys()].toSorted())
  const differing = zipped.classes.filter((each) => {
    const other = byFile.get(each.file)
    return (
      other === undefined ||
      !readClassBytes(zipped.container, each).equals(readClassBytes(plain.container, other))
    )
  })
  expect(differing).toEqual([])
  const { facts, problems } = await readClasses(zipped.container)
  expect(problems).toEqual([])
  expect(facts.classes.count).toBe(plain.classes.length)
}, 120_000)

test('classes with shared strings are counted in a diagnostic that names the image and the remedy', () => {
  const image = compressed('1')
  const { problems, classes } = listed(image)
  const missing = listed(join(smallJdk(), 'lib/modules')).classes.length - classes.length
  expect(missing).toBeGreaterThan(5_000)
  expect(problems).toEqual([
    {
      path: image,
      offset: 0,
      message: `${missing} classes are left out, because their compression is not supported; link the image with "jlink --compress=2" (zip-6 since JDK 21), or without --compress`,
    },
  ])
}, 120_000)

test.each([
  ['magic', 0],
  ['compressed size', 4],
  ['size', 12],
  ['size beyond 32 bits', 18],
  ['name of the method', 22],
  ['mark of the last method', 28],
  ['zlib header', 29],
])('a compressed class with a damaged %s is left out, and no other', (_name, at) => {
  const image = join(tempDir(), 'modules')
  copyFileSync(compressed('2'), image)
  const before = listed(image)
  const extent = before.classes.find(({ name }) => name === 'java/lang/String')?.extent
  const file = openSync(image, 'r+')
  writeSync(file, Buffer.of(0x5b), 0, 1, (extent?.offset ?? 0) - 31 + at)
  closeSync(file)
  const after = listed(image)
  expect(after.classes).toHaveLength(before.classes.length - 1)
  expect(after.classes.map(({ name }) => name)).not.toContain('java/lang/String')
  expect(after.problems).toMatchObject([{ message: expect.stringContaining('1 class is left out') }])
})

test('a compressed class with damaged data is one diagnostic', async () => {
  const image = join(tempDir(), 'modules')
  copyFileSync(compressed('2'), image)
  const { container, classes } = listed(image)
  const entry = classes.find(({ name }) => name === 'java/lang/String')
  const file = openSync(image, 'r+')
  writeSync(file, Buffer.alloc(64, 0xff), 0, 64, (entry?.extent?.offset ?? 0) + 100)
  closeSync(file)
  const { facts, problems } = await readClasses(container)
  expect(problems).toMatchObject([{ path: expect.stringContaining('java.base/java/lang/String.class') }])
  expect(facts.classes.count).toBe(classes.length - 1)
})
