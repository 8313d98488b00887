// Checks the language of everything that people read: node scripts/check-prose.ts [--counts] [PATH…]
// Compares Markdown, comments, messages, page and test texts, names and paths with the word list in
// scripts/prose/words.ts.
// PATH is a file or folder, by default the whole checkout. Prints one line per finding and exits 1.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { extname, resolve } from 'node:path'
import { TextlintKernel, type TextlintKernelRule } from '@textlint/kernel'
import markdown from '@textlint/textlint-plugin-markdown'
import text from '@textlint/textlint-plugin-text'
// @ts-expect-error: the package has no declarations.
import terminology from 'textlint-rule-terminology'
import { proseOfCpp, proseOfScript, proseOfShell, type SourceProse } from './prose/prose-of.ts'
import { EXCEPTIONS, NAMES, TERMS } from './prose/words.ts'

interface Finding {
  readonly file: string
  readonly line: number
  readonly message: string
}

const kernel = new TextlintKernel()
const rules: TextlintKernelRule[] = [
  { ruleId: 'terminology', rule: terminology, options: { defaultTerms: false, skip: [], terms: TERMS } },
]

process.chdir(resolve(import.meta.dirname, '..'))
const counts = process.argv.includes('--counts')
const paths = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const findings = (await Promise.all(checkedFiles(paths).map(checkFile)))
  .flat()
  .filter((finding) => !isException(finding))
for (const { file, line, message } of counts ? [] : findings) console.error(`${file}:${line}: ${message}`)
if (counts) printCounts(findings)
console.log(`prose: ${findings.length} findings`)
process.exitCode = findings.length === 0 ? 0 : 1

/** Returns the named files, or all with prose that Git does not ignore, except fixtures and the word list itself. */
function checkedFiles(within: readonly string[]): readonly string[] {
  if (within.length > 0 && within.every((path) => statSync(path).isFile())) return within
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...within],
    { encoding: 'utf8' },
  )
  return listed
    .split('\0')
    .filter((file) => kindOf(file) !== undefined && existsSync(file))
    .filter(
      (file) =>
        !/^(?:test\/fixtures\/|scripts\/prose\/words\.ts|test\/check\/(?:prose|commits)\.long\.test\.ts)/.test(
          file,
        ),
    )
}

type Kind = 'markdown' | 'page' | 'script' | 'cpp' | 'shell'

function kindOf(file: string): Kind | undefined {
  switch (extname(file)) {
    case '.md':
      return 'markdown'
    case '.ts':
    case '.tsx':
    case '.mjs':
    case '.js':
      return 'script'
    case '.cc':
    case '.h':
      return 'cpp'
    case '.html':
      return 'page'
    case '.sh':
    case '.service':
    case '.yaml':
    case '.yml':
      return 'shell'
    case '':
      return /^(?:scripts|\.ci)\//.test(file) ? 'shell' : undefined
    default:
      return undefined
  }
}

async function checkFile(file: string): Promise<readonly Finding[]> {
  const source = readFileSync(file, 'utf8')
  const kind = kindOf(file)
  const inPath = file.split('/').flatMap((part) => nameFindings(part, file, 1))
  if (kind === 'markdown') return [...inPath, ...(await termFindings(file, source, '.md'))]
  if (kind === 'page') return [...inPath, ...(await termFindings(file, source, '.txt'))]
  const prose = proseOf(kind, file, source)
  const lineAt = (offset: number): number => source.slice(0, offset).split('\n').length
  return [
    ...inPath,
    ...prose.names.flatMap(({ name, offset }) => nameFindings(name, file, lineAt(offset))),
    ...prose.whatDocs.map((offset) => ({
      file,
      line: lineAt(offset),
      message: 'a docstring begins with "What": begin with a noun or a verb',
    })),
    ...(await termFindings(file, prose.text, '.txt')),
  ]
}

function proseOf(kind: Kind | undefined, file: string, source: string): SourceProse {
  if (kind === 'cpp') return proseOfCpp(source)
  if (kind === 'shell') return proseOfShell(source)
  return proseOfScript(file, source)
}

async function termFindings(file: string, prose: string, ext: '.md' | '.txt'): Promise<readonly Finding[]> {
  const { messages } = await kernel.lintText(prose, {
    filePath: file,
    ext,
    plugins: [
      { pluginId: 'markdown', plugin: markdown.default },
      { pluginId: 'text', plugin: text.default },
    ],
    rules,
  })
  return messages.map(({ loc, message }) => ({ file, line: loc.start.line, message }))
}

/** Returns a finding for each avoided word in a name of any style. */
function nameFindings(name: string, file: string, line: number): readonly Finding[] {
  const words = name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase())
  return words.flatMap((word) => {
    const better = NAMES.get(word)
    return better === undefined
      ? []
      : [{ file, line, message: `Avoided name: "${word}" in ${name}, use ${better} instead` }]
  })
}

function isException({ file, line }: Finding): boolean {
  const lineText = readFileSync(file, 'utf8').split('\n')[line - 1] ?? ''
  return EXCEPTIONS.some((exception) => file.startsWith(exception.file) && lineText.includes(exception.text))
}

function printCounts(found: readonly Finding[]): void {
  const count = new Map<string, number>()
  for (const { message } of found) count.set(message, (count.get(message) ?? 0) + 1)
  for (const [message, times] of [...count].toSorted((a, b) => b[1] - a[1]))
    console.error(`${String(times).padStart(5)} ${message}`)
}
