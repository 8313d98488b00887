import { globSync, existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createAnalyzerProgram } from '../../src/analyzer/faces/cli/main.ts'
import { packageRoot } from '../../src/lib/process/package.ts'
import { createContentProgram } from '../../src/content/faces/cli/main.ts'
import { createSupervisorProgram } from '../../src/supervisor/faces/cli/main.ts'
import { createWorkspaceProgram } from '../../src/workspace/faces/cli/main.ts'

const read = (file: string) => readFileSync(join(packageRoot, file), 'utf8')

/** Pages for people; `bench/RESULTS.md` is a record of past measurements. */
const PAGES = globSync(['*.md', 'docs/**/*.md', 'src/**/DESIGN.md'], { cwd: packageRoot })

describe.each(PAGES)('%s', (file) => {
  const text = read(file)

  test('names only existing paths', () => {
    const paths = [
      ...text.matchAll(/`((?:src|native|workers|guest|bench|test|scripts|docs|\.ci)\/[\w./-]*)`/g),
    ]
    expect(paths.flatMap(([, path = '']) => (existsSync(join(packageRoot, path)) ? [] : [path]))).toEqual([])
  })

  test('links only to existing files and headings', () => {
    const prose = text.replaceAll(/^```[^]*?^```$/gm, '')
    for (const [, target = '', anchor] of prose.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const linked = target === '' ? file : join(dirname(file), target)
      expect(existsSync(join(packageRoot, linked)), linked).toBe(true)
      if (anchor === undefined) continue
      const headings = [...read(linked).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      )
      expect(headings).toContain(anchor)
    }
  })

  test('names only existing npm scripts', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    for (const [, name = ''] of text.matchAll(/npm run ([\w:]+)/g)) expect(scripts).toHaveProperty([name])
  })
})

test('ARCHITECTURE.md names every folder of the source down to the second layer', () => {
  const folders = globSync(
    [
      'native/*/',
      'src/*/',
      'src/lib/*/',
      'src/workspace/*/',
      'src/supervisor/*/',
      'src/content/*/',
      'src/analyzer/*/',
    ],
    {
      cwd: packageRoot,
    },
  )
  const page = read('ARCHITECTURE.md')
  expect(folders.filter((folder) => !page.includes(`\`${folder.replace(/\/?$/, '/')}\``))).toEqual([])
})

describe('reading paths', () => {
  const paths = read('ARCHITECTURE.md')
    .split(/^## /m)
    .filter((section) => section.startsWith('Reading path: '))
    .map((section) => [...section.matchAll(/^\d+\. `(src\/(\w+)\/[^`]+)`/gm)])

  test('each program has one of ten files, which starts with its server', () => {
    expect(paths.map((files) => files.map(([, , program]) => program))).toEqual(
      ['workspace', 'supervisor', 'content', 'analyzer'].map((program) => Array(10).fill(program)),
    )
    for (const [first] of paths) expect(first?.[1]).toMatch(/\/server\.ts$/)
  })

  test.each(paths.map((files) => files.map(([, file = '']) => file)))(
    '%s and its command line import each of its files, directly or indirectly',
    (server, ...files) => {
      const reached = importedFrom(server, join(dirname(server), 'faces/cli/main.ts'))
      expect(files.filter((file) => !reached.has(file))).toEqual([])
    },
  )
})

/** Returns all source files that these import, directly or indirectly, or start as entries by their path. */
function importedFrom(...first: readonly string[]): ReadonlySet<string> {
  const seen = new Set(first)
  for (const file of seen)
    for (const [, target = ''] of read(file).matchAll(/'(\.{1,2}\/[^']+\.ts)'/g)) {
      const path = join(dirname(file), target)
      if (existsSync(join(packageRoot, path))) seen.add(path)
    }
  return seen
}

test('CHANGELOG.md names every command', () => {
  const names = [
    createWorkspaceProgram(),
    createSupervisorProgram(),
    createContentProgram(),
    createAnalyzerProgram(),
  ].flatMap(({ commands }) => commands.map((command) => command.name()))
  expect(names.filter((name) => !read('CHANGELOG.md').includes(`\`${name}\``))).toEqual([])
})

test('docs/comparison.md names only existing benchmarks', () => {
  const rows = read('docs/comparison.md').matchAll(/^\|.*\| `([\w-]+\/[\w-]+)` \|$/gm)
  const named = new Set([...rows].map(([, name = '']) => name))
  expect(named.size).toBeGreaterThan(8)
  const missing = [...named].filter((name) => !existsSync(join(packageRoot, 'bench', `${name}.ts`)))
  expect(missing).toEqual([])
})
