import { describe, expect, test } from 'vitest'
import { styleProject, TIDY, UNTIDY } from '../../support/analyzer/style-project.ts'

const BROKEN = 'class B {\n  void m( { int x = ; }\n}\n'

describe('a file', () => {
  test('is reported with the lines that differ from its formatted form', async () => {
    const { post } = await styleProject({ 'src/A.java': UNTIDY, 'src/T.java': TIDY })
    const { durationMs, ...found } = await post('/lint/file', { filePath: 'src/A.java' })
    expect(durationMs).toBeGreaterThanOrEqual(0)
    expect(found).toEqual({
      filePath: 'src/A.java',
      errors: [
        {
          line: 1,
          endLine: 2,
          col: 10,
          ruleId: 'format',
          detail: 'formatted, lines 1 to 2 begin with "class A {"',
          canBeAutoCorrected: true,
        },
      ],
      errorCount: 1,
      isIgnored: false,
      diagnostics: [],
    })
    expect(await post('/lint/file', { filePath: 'src/T.java' })).toMatchObject({ errors: [], errorCount: 0 })
  })

  test('is formatted, and written only on request', async () => {
    const { post, read, root } = await styleProject({ 'src/A.java': UNTIDY })
    const dry = await post('/format/file', { filePath: 'src/A.java' })
    expect(dry).toMatchObject({
      filePath: 'src/A.java',
      formattedContent: TIDY,
      hasChanges: true,
      remainingErrors: [],
    })
    expect(read('src/A.java')).toBe(UNTIDY)
    const file = { filePath: `${root}/src/A.java`, writeToFile: true }
    expect(await post('/format/file', file)).toMatchObject({ formattedContent: TIDY, hasChanges: true })
    expect(read('src/A.java')).toBe(TIDY)
    expect(await post('/format/file', file)).toMatchObject({ formattedContent: TIDY, hasChanges: false })
    expect((await post('/lint/file', { filePath: 'src/A.java' })).errorCount).toBe(0)
  })

  test('that is not valid Java is reported with the position, and left unchanged', async () => {
    const { post, read } = await styleProject({ 'src/B.java': BROKEN })
    const issue = {
      line: 2,
      endLine: 2,
      col: 10,
      ruleId: 'syntax',
      detail: '")" is missing',
      canBeAutoCorrected: false,
    }
    expect((await post('/lint/file', { filePath: 'src/B.java' })).errors).toEqual([issue])
    const formatted = await post('/format/file', { filePath: 'src/B.java', writeToFile: true })
    expect(formatted).toMatchObject({ formattedContent: BROKEN, hasChanges: false, remainingErrors: [issue] })
    expect(read('src/B.java')).toBe(BROKEN)
  })

  test('that is not UTF-8, or too large, is reported and left unchanged', async () => {
    const latin = Buffer.from('class L { String s="\xfc"; }\n', 'latin1')
    const { post, read } = await styleProject({
      'src/L.java': latin,
      'src/H.java': `class H {${' '.repeat(2 ** 22)}}`,
    })
    const rule = async (filePath: string) =>
      (await post('/format/file', { filePath, writeToFile: true })).remainingErrors.map(
        (each: { ruleId: string }) => each.ruleId,
      )
    expect(await rule('src/L.java')).toEqual(['encoding'])
    expect(Buffer.from(read('src/L.java'), 'utf8')).toEqual(Buffer.from(latin.toString('utf8')))
    expect(await rule('src/H.java')).toEqual(['read'])
  })

  test('that is nested too deeply for the formatter is reported, and the server continues', async () => {
    const deep = `class D { int x = ${'('.repeat(20_000)}1${')'.repeat(20_000)}; }\n`
    const { post } = await styleProject({ 'src/D.java': deep, 'src/A.java': UNTIDY })
    const { errors, diagnostics } = await post('/lint/file', { filePath: 'src/D.java' })
    expect([errors, diagnostics]).toEqual([[], [expect.stringContaining('it has no formatted form: ')]])
    expect((await post('/lint/file', { filePath: 'src/A.java' })).errorCount).toBe(1)
  })

  test('a path that is not a project file is rejected', async () => {
    const { ask } = await styleProject({ 'notes.txt': 'no code', 'src/A.kt': 'fun  a( ) {}\n' }, { PATH: '' })
    expect(await ask('/lint/file', { filePath: 'src/No.java' })).toMatchObject({
      status: 404,
      body: { error: true, code: 404, type: 'NotFound' },
    })
    expect(await ask('/lint/file', { filePath: 'notes.txt' })).toMatchObject({
      status: 400,
      body: { message: '"notes.txt" is neither a Java nor a Kotlin file' },
    })
    expect((await ask('/lint/file', {})).status).toBe(400)
    expect((await ask('/lint/file', { filePath: 'src/A.java', extra: 1 })).body.message).toMatch(
      /unknown field "extra"/,
    )
  })
})

describe('a project', () => {
  const files = {
    'src/main/java/a/A.java': UNTIDY,
    'src/main/java/a/build/T.java': TIDY,
    'src/test/java/a/ATest.java': UNTIDY,
    'src/main/java/a/B.java': BROKEN,
    'target/generated-sources/G.java': UNTIDY,
    'node_modules/x/N.java': UNTIDY,
    '.hidden/H.java': UNTIDY,
  }

  test('is reported by file, without build output and hidden files', async () => {
    const { post, root } = await styleProject(files)
    const found = await post('/lint/project', {})
    expect(found).toMatchObject({
      projectPath: root,
      filesScanned: 4,
      filesWithErrors: 3,
      totalErrorCount: 3,
    })
    expect(found.fileResults.map((each: { filePath: string }) => each.filePath)).toEqual([
      'src/main/java/a/A.java',
      'src/main/java/a/B.java',
      'src/test/java/a/ATest.java',
    ])
  })

  test('is limited by a pattern, and to files that are not tests', async () => {
    const { post } = await styleProject(files)
    const scanned = async (scope: object) => (await post('/lint/project', scope)).filesScanned
    expect(await scanned({ includeTests: false })).toBe(3)
    expect(await scanned({ pattern: 'A*.java' })).toBe(2)
    expect(await scanned({ pattern: '**/build/*.java' })).toBe(1)
    expect(await scanned({ pattern: 'src/test/**' })).toBe(1)
    expect(await scanned({ pattern: 'nothing/**' })).toBe(0)
  })

  test('is shown as a diff first, then written, except files with errors', async () => {
    const { post, read } = await styleProject(files)
    const dry = await post('/format/project', { dryRun: true })
    const changed = ['src/main/java/a/A.java', 'src/test/java/a/ATest.java']
    expect(dry).toMatchObject({ filesFormatted: changed, filesScanned: 4, filesWithChanges: 2, dryRun: true })
    expect(dry.fileResults[0].diff).toBe(
      '--- a/src/main/java/a/A.java\n+++ b/src/main/java/a/A.java\n@@ -1,2 +1,6 @@\n-class A { int x=1;\n-  void m( ){ } }\n' +
        '+class A {\n+\n+  int x = 1;\n+\n+  void m() {}\n+}\n',
    )
    expect(read('src/main/java/a/A.java')).toBe(UNTIDY)
    const done = await post('/format/project', { includeTests: false })
    expect(done).toMatchObject({
      filesFormatted: changed.slice(0, 1),
      filesWithChanges: 1,
      filesWithRemainingErrors: 1,
    })
    expect([read('src/main/java/a/A.java'), read('src/main/java/a/B.java'), read(changed[1] ?? '')]).toEqual([
      TIDY,
      BROKEN,
      UNTIDY,
    ])
    expect((await post('/format/project', { includeTests: false })).filesFormatted).toEqual([])
  })
})

test('formatting stabilizes code that the formatter moves at every pass, and a check then finds nothing', async () => {
  const moving = `class M {
  void m(boolean a) {
    if (a)
      run(); // first
    else // second
      stop(); // third
    if (a) // fourth
      run();
    for (;;) // fifth
      if (a) break; // sixth
      else continue; // seventh
  }
}
`
  const { post } = await styleProject({ 'src/M.java': moving })
  await post('/format/file', { filePath: 'src/M.java', writeToFile: true })
  expect((await post('/lint/file', { filePath: 'src/M.java' })).errors).toEqual([])
  expect((await post('/format/project', {})).filesFormatted).toEqual([])
})

test('valid Java that the formatter rejects is not a style violation, and is left unchanged', async () => {
  const refused = 'class C {\n  private // a comment that it would lose\n  static final class D {}\n}\n'
  const { post, read } = await styleProject({ 'src/C.java': refused })
  const reason = expect.stringMatching(
    /^(?:src\/C.java: )?it has no formatted form: Comment .* was not printed/,
  )
  expect(await post('/lint/file', { filePath: 'src/C.java' })).toMatchObject({
    errors: [],
    diagnostics: [reason],
  })
  expect(await post('/format/file', { filePath: 'src/C.java', writeToFile: true })).toMatchObject({
    hasChanges: false,
    formattedContent: refused,
    remainingErrors: [{ ruleId: 'formatter', detail: reason, canBeAutoCorrected: false }],
  })
  expect(read('src/C.java')).toBe(refused)
})

test('the routes require the token', async () => {
  const { ask, read } = await styleProject({ 'src/A.java': UNTIDY })
  for (const path of ['/lint/file', '/lint/project', '/format/file', '/format/project'])
    expect((await ask(path, {}, '')).status).toBe(401)
  expect(read('src/A.java')).toBe(UNTIDY)
})
