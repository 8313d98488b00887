import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { jdkHome } from '../../support/analyzer/jdk.ts'
import { jdkSources } from '../../support/analyzer/jdk-sources.ts'
import { mavenJar } from '../../support/analyzer/maven-jar.ts'
import { styleProject } from '../../support/analyzer/style-project.ts'
import { tempDir } from '../../support/temp-dir.ts'

const hour = 3_600_000

test(
  'formatting packages of the JDK stabilizes, and they compile to the same classes',
  async () => {
    const project = await styleProject({})
    const folder = join(project.root, 'src/java.base')
    const packages = ['java/util/stream', 'java/lang/invoke']
    jdkSources(
      folder,
      packages.map((each) => `java.base/${each}/`),
    )
    const original = tempDir()
    cpSync(folder, original, { recursive: true })

    const first = await project.post('/format/project', {})
    expect(first.filesScanned).toBeGreaterThan(100)
    // The plugin would lose a comment of this one, and refuses it.
    const refused = first.fileResults.filter((each: { hasChanges: boolean }) => !each.hasChanges)
    expect(refused).toMatchObject([
      {
        filePath: 'src/java.base/java/lang/invoke/BoundMethodHandle.java',
        remainingErrors: [{ ruleId: 'formatter' }],
      },
    ])
    expect(first.filesWithChanges).toBeGreaterThan(100)
    const formatted = contentsOf(folder)

    // Format twice is format once, and a check finds nothing.
    expect((await project.post('/lint/project', {})).totalErrorCount).toBe(0)
    expect((await project.post('/format/project', {})).filesFormatted).toEqual([])
    expect(contentsOf(folder)).toEqual(formatted)

    const [before, after] = [compiledTree(original), compiledTree(folder)]
    expect(Object.keys(after).length).toBeGreaterThan(300)
    expect(after).toEqual(before)
  },
  hour,
)

describe('Kotlin, by the real ktlint', () => {
  const UNTIDY = 'package a\n\nfun  main( ) {\nval x=1\n    println( x )\n}\n'
  const TIDY = 'package a\n\nfun main() {\n    val x = 1\n    println(x)\n}\n'
  const environment = () => ({
    ANALYZER_LINT__KTLINT: mavenJar('com.pinterest.ktlint:ktlint-cli:1.5.0:jar:all'),
    ANALYZER_JVM_HOME: jdkHome(),
  })

  test(
    'is checked and formatted, with the project’s .editorconfig',
    async () => {
      const { post, read, write } = await styleProject(
        {
          'src/main/kotlin/a/Main.kt': UNTIDY,
          'src/main/kotlin/a/Bad.kt': 'fun (\n',
          'build.gradle.kts': 'val  x=1\n',
        },
        environment(),
      )
      const found = await post('/lint/file', { filePath: 'src/main/kotlin/a/Main.kt' })
      expect(found.errors).toContainEqual({
        line: 3,
        endLine: 3,
        col: 4,
        ruleId: 'standard:fun-keyword-spacing',
        detail: 'Single space expected after the fun keyword',
        canBeAutoCorrected: true,
      })
      const dry = await post('/format/project', { dryRun: true })
      expect(dry.filesFormatted).toEqual(['build.gradle.kts', 'src/main/kotlin/a/Main.kt'])
      expect(dry.fileResults[1].diff ?? dry.fileResults[0].diff).toContain('+++ b/')
      expect(read('src/main/kotlin/a/Main.kt')).toBe(UNTIDY)

      const done = await post('/format/project', {})
      expect(done).toMatchObject({ filesWithChanges: 2, filesWithRemainingErrors: 1 })
      expect(read('src/main/kotlin/a/Main.kt')).toBe(TIDY)
      expect(read('src/main/kotlin/a/Bad.kt')).toBe('fun (\n')
      const bad = await post('/lint/file', { filePath: 'src/main/kotlin/a/Bad.kt' })
      expect(bad.errors).toMatchObject([{ line: 2, ruleId: 'syntax', canBeAutoCorrected: false }])

      write('.editorconfig', '[*.kt]\nindent_size = 2\n')
      const { formattedContent } = await post('/format/file', { filePath: 'src/main/kotlin/a/Main.kt' })
      expect(formattedContent).toBe(TIDY.replaceAll('    ', '  '))
    },
    hour,
  )
})

function contentsOf(folder: string): Readonly<Record<string, string>> {
  const files = globSync('**/*.java', { cwd: folder })
  return Object.fromEntries(
    files.map((file) => [
      file,
      createHash('sha256')
        .update(readFileSync(join(folder, file)))
        .digest('hex'),
    ]),
  )
}

/** The classes of sources that are patched into java.base, by their hashes; without lines, which formatting moves. */
function compiledTree(folder: string): Readonly<Record<string, string>> {
  const out = tempDir()
  const list = join(tempDir(), 'files')
  // What differs between the installed sources and the installed classes does not compile.
  const files = globSync('java/util/**/*.java', { cwd: folder }).filter(
    (file) => !file.startsWith('java/util/jar/'),
  )
  mkdirSync(dirname(list), { recursive: true })
  writeFileSync(list, files.map((file) => `"${join(folder, file)}"`).join('\n'))
  const argv = [
    '-g:none',
    '-nowarn',
    '-proc:none',
    '-XDignore.symbol.file',
    '--patch-module',
    `java.base=${folder}`,
  ]
  const javac = ['-implicit:none', '-encoding', 'UTF-8', '-d', out, `@${list}`]
  execFileSync('javac', [...argv, ...javac], { stdio: ['ignore', 'ignore', 'inherit'] })
  const classes = globSync('**/*.class', { cwd: out })
  return Object.fromEntries(
    classes.map((file) => [
      file,
      createHash('sha256')
        .update(readFileSync(join(out, file)))
        .digest('hex'),
    ]),
  )
}
