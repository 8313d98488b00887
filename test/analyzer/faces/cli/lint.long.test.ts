import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { analyzerUser, builtProject } from '../../../support/analyzer/analyzer-cli.ts'
import { TIDY, UNTIDY } from '../../../support/analyzer/style-project.ts'

test('lint check and lint format set the exit status in all variants', async () => {
  const user = analyzerUser()
  const root = builtProject('kinds')
  const at = ['-p', root]
  const folder = join(root, 'src/main/java')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'A.java')
  writeFileSync(file, UNTIDY)
  writeFileSync(join(folder, 'T.java'), TIDY)
  const lint = (...argv: readonly string[]) => user.analyzer('lint', ...argv, ...at)
  expect((await user.analyzer('start', ...at, '--mode', 'jar')).status).toBe(0)

  const found = await lint('check')
  expect([found.status, JSON.parse(found.stdout)]).toEqual([
    1,
    expect.objectContaining({ filesScanned: 2, filesWithErrors: 1, totalErrorCount: 1 }),
  ])
  expect((await lint('check', join(folder, 'T.java'))).status).toBe(0)
  expect((await lint('check', '--table')).stdout).toMatch(
    /^File +Line +Rule +What\nsrc\/main\/java\/A.java +1-2 +format[^]*\n2 files scanned, 1 with issues, 1 issues\n$/,
  )
  expect(await lint('check', '--format', 'github')).toMatchObject({
    status: 1,
    stdout:
      '::warning file=src/main/java/A.java,line=1,endLine=2,col=10,title=format::formatted, lines 1 to 2 begin with "class A {"\n',
  })
  const sarif = JSON.parse((await lint('check', '--format', 'sarif')).stdout)
  expect(sarif.runs[0].results[0]).toMatchObject({
    ruleId: 'format',
    level: 'warning',
    locations: [{ physicalLocation: { region: { startLine: 1, startColumn: 10, endLine: 2 } } }],
  })

  // What a dry run prints is what it would do.
  const dry = await lint('format', '--dry-run', '--table')
  expect([dry.status, readFileSync(file, 'utf8')]).toEqual([0, UNTIDY])
  execFileSync('git', ['apply', '-'], { cwd: root, input: dry.stdout })
  expect(readFileSync(file, 'utf8')).toBe(TIDY)
  writeFileSync(file, UNTIDY)
  expect((await lint('format', '-n', '--table', file)).stdout).toBe(TIDY)
  expect(JSON.parse((await lint('format', '-n', file)).stdout).formattedContent).toBe(TIDY)

  expect(await lint('format', '--table', file)).toMatchObject({
    status: 0,
    stdout: 'src/main/java/A.java: formatted\n',
  })
  expect(readFileSync(file, 'utf8')).toBe(TIDY)
  expect((await lint('check')).status).toBe(0)

  writeFileSync(file, 'class A {')
  expect(await lint('format')).toMatchObject({ status: 1, stderr: expect.stringContaining('A.java:1:') })
  expect(await lint('check', '/etc/passwd')).toMatchObject({ status: 2 })
  expect(await lint('check', '--pattern', '*.java', file)).toMatchObject({ status: 2, stdout: '' })
  expect(await lint('check', '--include-tests', 'perhaps')).toMatchObject({ status: 2, stdout: '' })

  writeFileSync(join(folder, 'K.kt'), 'fun  a( ) {}\n')
  const kotlin = await lint('check', join(folder, 'K.kt'))
  expect([kotlin.status, kotlin.stderr]).toEqual([4, expect.stringContaining('ktlint, which was not found')])
  const whole = await lint('check')
  expect(whole.stderr).toContain(
    'analyzer: 1 Kotlin files are skipped. Kotlin is checked and formatted by ktlint',
  )
})
