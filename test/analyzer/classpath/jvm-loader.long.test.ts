import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listClasses } from '../../../src/analyzer/classpath/list-classes.ts'
import { readClasses } from '../../../src/analyzer/classpath/read-classes.ts'
import { compiled } from '../../support/analyzer/javac.ts'
import { zipOf, type ZipFile } from '../../support/analyzer/zip.ts'
import { Random } from '../../support/differential/random.ts'
import { rounds } from '../../support/rounds.ts'
import { SEED } from '../../support/seed.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Release of the JVM on PATH. */
const RELEASE = 17
const NAME = 'loading/Marked.class'
const PLACES = ['', '', '', 'META-INF/versions/9/', 'META-INF/versions/11/', 'META-INF/versions/17/']
const RARE_PLACES = [
  'META-INF/versions/99/',
  'META-INF/versions/8/',
  'meta-inf/versions/9/',
  '/',
  './',
  'x/../',
]
const NAMES = [NAME, NAME, NAME, `${NAME}/`]
const RARE_NAMES = [
  'loading//Marked.class',
  'loading/./Marked.class',
  'loading/x/../Marked.class',
  'LOADING/Marked.class',
]
const MANIFESTS = [
  'Manifest-Version: 1.0\r\n\r\n',
  'Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n',
  'Manifest-Version: 1.0\r\nMulti-Release: true\r\n\r\n',
  'Manifest-Version: 1.0\nmulti-release: TRUE\n\n',
  'Manifest-Version: 1.0\nMulti-Release: true',
  'Manifest-Version: 1.0\r\nMulti-Release: false\r\n\r\n',
  'Manifest-Version: 1.0\r\nMulti-Release: true \r\n\r\n',
  'Manifest-Version: 1.0\r\nMulti-Release: tr\r\n ue\r\n\r\n',
  'Manifest-Version: 1.0\r\n\r\nName: loading/\r\nMulti-Release: true\r\n\r\n',
  'Multi-Release: true\r\n\r\n',
]

function archiveOf(random: Random, classFile: Buffer): readonly ZipFile[] {
  const pick = <T>(values: readonly T[]): T => values[random.below(values.length)] as T
  const marked = (mark: number): Buffer =>
    Buffer.from(
      classFile.toString('latin1').replace('mark-000', `mark-${String(mark).padStart(3, '0')}`),
      'latin1',
    )
  const classes = Array.from({ length: 1 + random.below(4) }, (_, at) => ({
    name: pick(random.chance(0.1) ? RARE_PLACES : PLACES) + pick(random.chance(0.1) ? RARE_NAMES : NAMES),
    bytes: marked(at + 1),
  }))
  const manifests = Array.from({ length: random.below(3) }, () => ({
    name: random.chance(0.2) ? 'meta-inf/Manifest.mf' : 'META-INF/MANIFEST.MF',
    bytes: Buffer.from(pick(MANIFESTS)),
  }))
  return random.chance(0.5) ? [...manifests, ...classes] : [...classes, ...manifests]
}

/** Returns the mark of the class in an archive. */
async function markIn(path: string): Promise<string> {
  const { containers } = listClasses(path, RELEASE)
  for (const container of containers) {
    const { facts } = await readClasses(container)
    for (let row = 0; row < facts.classes.count; row++)
      if (facts.strings.get(facts.classes.name[row] ?? 0) === 'loading/Marked')
        return facts.strings.get(facts.fields.constant[0] ?? 0)
  }
  return 'none'
}

test('A2 A3 a class is read from the entry of an archive that a JVM loads', async () => {
  const classes = compiled('loading', ['-g', '-parameters'])
  const classFile = readFileSync(join(classes, NAME))
  const random = new Random(SEED)
  const folder = tempDir()
  const archives = new Map<string, readonly ZipFile[]>()
  for (let round = 0; round < rounds(1_000, 10_000); round++) {
    const name = `${String(round).padStart(5, '0')}.jar`
    archives.set(name, archiveOf(random, classFile))
    writeFileSync(join(folder, name), zipOf(archives.get(name) ?? []))
  }
  const printed = execFileSync('java', ['-cp', classes, 'loading.LoadMarked', folder], {
    encoding: 'utf8',
    maxBuffer: 2 ** 24,
  })
  const loaded = new Map(
    printed
      .trim()
      .split('\n')
      .map((line) => line.split(' ') as [string, string]),
  )
  expect(new Set(loaded.values()).size).toBeGreaterThan(4)
  const differences: string[] = []
  for (const [name, files] of archives) {
    const mark = await markIn(join(folder, name))
    if (mark === loaded.get(name)) continue
    const shown = files.map((file) =>
      /manifest/i.test(file.name) ? JSON.stringify(file.bytes.toString()) : file.name,
    )
    differences.push(`JVM ${loaded.get(name)}, analyzer ${mark}: ${shown.join(', ')}`)
  }
  expect(differences.slice(0, 20)).toEqual([])
})
