// Checks commit messages: node scripts/check-commits.ts [FILE [LINES]]
// FILE is a single message, as Git passes it to a commit-msg hook (scripts/hooks/commit-msg); without it, every
// commit after the one that added this file is checked. LINES is the size of the change, by default of what is
// staged. Prints one line per problem and exits 1.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import lint from '@commitlint/lint'

/** A larger change needs a body that explains it. */
const LINES_WITHOUT_BODY = 100

/** Verbs whose endings look like a past tense, a participle or a third person. */
const IMPERATIVES = new Set([
  'bring',
  'embed',
  'exceed',
  'feed',
  'need',
  'ping',
  'seed',
  'speed',
  'spring',
  'string',
  'focus',
  'bias',
  'canvas',
  'alias',
])

/** Severity of an error in commitlint's rules. */
const ERROR = 2

const rules = {
  'header-max-length': [ERROR, 'always', 72],
  'header-area': [ERROR, 'always'],
  'subject-full-stop': [ERROR, 'never', '.'],
  'body-leading-blank': [ERROR, 'always'],
  'subject-imperative': [ERROR, 'always'],
  'subject-one-change': [ERROR, 'always'],
} as const

const plugin = {
  rules: {
    'header-area': ({ type, subject }: Parsed): Outcome => [
      Boolean(type) && Boolean(subject),
      'begin with what it changes, as in "workspace/bus: release the listener when its stream closes"',
    ],
    'subject-imperative': ({ subject }: Parsed): Outcome => {
      const verb = subject?.split(/[\s,]/)[0]
      return [
        verb === undefined || isImperative(verb),
        `begin with a verb in the imperative, as in "release the listener", not with "${verb}"`,
      ]
    },
    'subject-one-change': ({ header }: Parsed): Outcome => [
      header?.includes(';') !== true,
      'name one change; a list of changes is several commits',
    ],
  },
}

interface Parsed {
  readonly header?: string | null
  /** The area, before the first ": ". */
  readonly type?: string | null
  readonly subject?: string | null
}

type Outcome = [isValid: boolean, message: string]

process.chdir(resolve(import.meta.dirname, '..'))
const [file, changedCount] = process.argv.slice(2)
const checked = file === undefined ? commits() : [message(file, changedCount)]
const problems = (await Promise.all(checked.map(problemsOf))).flat()
for (const problem of problems) console.error(problem)
console.log(`commits: ${checked.length} checked, ${problems.length} problems`)
process.exitCode = problems.length === 0 ? 0 : 1

interface Commit {
  readonly name: string
  readonly text: string
  /** Lines added and removed. */
  readonly lines: number
}

/** Returns the commits after the one that added this check, without merges. */
function commits(): readonly Commit[] {
  const [added] = git('log', '--diff-filter=A', '--format=%H', '--', 'scripts/check-commits.ts').split('\n')
  if (added === undefined || added === '') return []
  const log = git('log', '--no-merges', '--numstat', '--format=%x00%h%x00%B%x00', `${added}..HEAD`)
  const [, ...fields] = log.split('\0')
  return Array.from({ length: fields.length / 3 }, (_, i) => {
    const [name = '', text = '', numstat = ''] = fields.slice(3 * i, 3 * i + 3)
    return { name, text, lines: changedLines(numstat) }
  })
}

/** Reads the message being committed, without Git's comments. */
function message(path: string, changed: string | undefined): Commit {
  const text = readFileSync(path, 'utf8').replaceAll(/^#.*\n?/gm, '')
  return {
    name: 'commit message',
    text,
    lines: changed === undefined ? changedLines(git('diff', '--cached', '--numstat')) : Number(changed),
  }
}

async function problemsOf({ name, text, lines }: Commit): Promise<readonly string[]> {
  const { errors, input } = await lint(text, rules, {
    plugins: { local: plugin },
    parserOpts: { headerPattern: /^([\w/.,*: -]+?): (.+)$/, headerCorrespondence: ['type', 'subject'] },
  })
  const [header = '', ...body] = input.trim().split('\n')
  const unexplained = lines > LINES_WITHOUT_BODY && body.join('').trim() === ''
  return [
    ...errors.map((error) => `${name}: ${error.message} (${header})`),
    ...(unexplained ? [`${name}: ${lines} lines changed without a body that explains why (${header})`] : []),
  ]
}

function isImperative(verb: string): boolean {
  return IMPERATIVES.has(verb) || !/(?:ed|ing|[^s]s)$/.test(verb)
}

function changedLines(numstat: string): number {
  const counts = [...numstat.matchAll(/^(\d+)\t(\d+)\t/gm)]
  return counts.reduce((sum, [, added, removed]) => sum + Number(added) + Number(removed), 0)
}

function git(...arguments_: readonly string[]): string {
  return execFileSync('git', arguments_, { encoding: 'utf8', maxBuffer: 1 << 28 })
}
