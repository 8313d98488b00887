import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listClasses } from '../../../src/analyzer/classpath/list-classes.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { zipOf } from '../../support/analyzer/zip.ts'

const MIB = 2 ** 20
const CLASS = { name: 'a/A.class', bytes: Buffer.from('cafebabe', 'hex') }

/** Bytes that deflate to about a fiftieth. */
function compressible(bytes: number): Buffer {
  const made = Buffer.alloc(bytes)
  for (let at = 0; at < bytes; at += 200) made.writeUInt32LE(Math.imul(at, 2654435761) >>> 0, at)
  return made
}

for (const [name, before, containers, problem, tags] of [
  ['zeros below 16 MiB', () => Buffer.alloc(15 * MIB), 2, undefined, []],
  ['zeros beyond 16 MiB', () => Buffer.alloc(17 * MIB), 1, /100 times its size/, []],
  ['what deflates to a fiftieth', () => compressible(40 * MIB), 2, undefined, ['long']],
  ['a size over the limit', () => compressible(260 * MIB), 1, /exceeds the size limit/, ['long']],
] as const)
  test(`A1 a nested archive is limited by a budget and a ratio: ${name}`, { tags: [...tags] }, () => {
    const path = join(tempDir(), 'outer.jar')
    const inner = zipOf([CLASS], { before: before() })
    writeFileSync(path, zipOf([CLASS, { name: 'lib/inner.jar', bytes: inner }]))
    const listed = listClasses(path, 17)
    expect(listed.containers).toHaveLength(containers)
    expect(listed.problems.map(({ path: place }) => place)).toEqual(
      problem === undefined ? [] : [`${path}!/lib/inner.jar`],
    )
    if (problem !== undefined) expect(listed.problems[0]?.message).toMatch(problem)
  })
