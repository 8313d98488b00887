import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { styleJavaFile } from '../../../src/analyzer/lint/style-java-file.ts'
import { styleProject, UNTIDY } from '../../support/analyzer/style-project.ts'
import { tempDir } from '../../support/temp-dir.ts'

const WIDE = UNTIDY.replace('int x=1;', 'int x=1; /* wide */')
const indentOf = (text = ''): string | undefined => /^([ \t]+)int/m.exec(text)?.[1]

/** Formats `src/A.java` in a project of some files; "ROOT" in a file is replaced with the project's path. */
async function formatted(files: Readonly<Record<string, string>>) {
  const root = tempDir()
  for (const [file, content] of Object.entries({ 'src/A.java': WIDE, ...files })) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), content.replaceAll('ROOT', root))
  }
  const file = { path: join(root, 'src/A.java'), filePath: 'src/A.java' }
  const { text, errors, diagnostics } = await styleJavaFile({ root, file, writes: false, wanted: 'text' })
  return { root, errors, diagnostics, indent: indentOf(text), trace: existsSync(join(root, 'trace')) }
}

describe('options are read from', () => {
  test.each([
    ['.prettierrc', 'tabWidth: 4\n'],
    ['.prettierrc', '{"tabWidth": 4}'],
    ['.prettierrc.json', '{"tabWidth": 4}'],
    ['.prettierrc.yaml', 'tabWidth: 4'],
    ['.prettierrc.json5', '{tabWidth: 4, /* five */}'],
    ['.prettierrc.toml', 'tabWidth = 4'],
    ['package.json', '{"prettier": {"tabWidth": 4}}'],
    ['.editorconfig', 'root = true\n[*.java]\nindent_style = space\nindent_size = 4\n'],
    ['src/.prettierrc', 'tabWidth: 4\n'],
    ['.prettierrc', 'overrides: [{files: "*.java", options: {tabWidth: 4}}]'],
    ['.prettierrc', 'overrides: [{files: ["src/**"], excludeFiles: "B.java", options: {tabWidth: 4}}]'],
  ])('%s: %s', async (file, content) => {
    expect((await formatted({ [file]: content })).indent).toBe('    ')
  })

  test('the nearest configuration, after .editorconfig', async () => {
    const files = {
      '.editorconfig': '[*]\nindent_style = tab\n',
      '.prettierrc': 'tabWidth: 8',
      'src/.prettierrc': 'useTabs: false',
    }
    expect((await formatted(files)).indent).toBe('  ')
    expect((await formatted({ '.editorconfig': '[*]\nindent_style = tab\n' })).indent).toBe('\t')
  })
})

describe('code of the project does not run', () => {
  const harm = `require('node:fs').writeFileSync('ROOT/trace', '')`
  const shared = { 'shared.cjs': `${harm}; module.exports = { tabWidth: 4 }` }

  test.each([
    'prettier.config.js',
    'prettier.config.cjs',
    '.prettierrc.js',
    '.prettierrc.mjs',
    '.prettierrc.ts',
  ])('of %s', async (file) => {
    const { root, ...rest } = await formatted({ [file]: `${harm}; module.exports = { tabWidth: 4 }` })
    const diagnostic = `${join(root, file)} is code and is not run: write the options as JSON, YAML or TOML`
    expect(rest).toEqual({ errors: [], diagnostics: [diagnostic], indent: '  ', trace: false })
  })

  test.each([
    ['.prettierrc', '"./shared.cjs"'],
    ['package.json', '{"prettier": "./shared.cjs"}'],
    ['.prettierrc.json5', "'./shared.cjs'"],
  ])('that %s names', async (file, content) => {
    const { root, ...rest } = await formatted({ ...shared, [file]: content })
    const diagnostic = `${join(root, file)} names the package "./shared.cjs", which is code and is not run`
    expect(rest).toEqual({ errors: [], diagnostics: [diagnostic], indent: '  ', trace: false })
  })

  test('of plugins, and the other options count', async () => {
    const files = {
      'plugin.cjs': harm,
      '.prettierrc': 'tabWidth: 4\nparser: babel\nplugins: [./plugin.cjs]\n',
    }
    const { diagnostics, indent, trace } = await formatted(files)
    expect([indent, trace]).toEqual(['    ', false])
    expect(diagnostics[0]).toMatch(/names plugins, which are code and are not run/)
  })
})

test(
  'an unreadable configuration is an issue of each file, and nothing is written',
  { tags: ['long'] },
  async () => {
    const { post, read } = await styleProject({ 'src/A.java': WIDE, '.prettierrc': 'tabWidth: [4' })
    const { remainingErrors } = await post('/format/file', { filePath: 'src/A.java', writeToFile: true })
    expect(remainingErrors).toMatchObject([{ ruleId: 'options', canBeAutoCorrected: false }])
    expect(remainingErrors[0].detail).toMatch(/\.prettierrc cannot be read/)
    const { fileResults } = await post('/format/project', {})
    expect(fileResults).toMatchObject([{ filePath: 'src/A.java', hasChanges: false }])
    expect(read('src/A.java')).toBe(WIDE)
  },
)

test('an option out of range is an issue, not a crash', async () => {
  const { errors } = await formatted({ '.prettierrc': 'tabWidth: many' })
  expect(errors).toMatchObject([{ ruleId: 'options' }])
})

test('files in .prettierignore or .gitignore are skipped', { tags: ['long'] }, async () => {
  const { post, read } = await styleProject({
    'src/A.java': WIDE,
    'gen/B.java': WIDE,
    'src/C.java': WIDE,
    '.prettierignore': 'gen/\n',
    '.gitignore': 'C.java\n',
  })
  expect(await post('/format/project', {})).toMatchObject({ filesFormatted: ['src/A.java'], filesScanned: 1 })
  expect(await post('/format/file', { filePath: 'gen/B.java', writeToFile: true })).toMatchObject({
    isIgnored: true,
  })
  expect(read('gen/B.java')).toBe(WIDE)
})
