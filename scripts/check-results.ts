// Checks that every commit that results of benchmarks name is one of this history: node scripts/check-results.ts [FILE]
// FILE is by default bench/RESULTS.md. Prints one line per unknown commit and exits 1.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const [file = join(root, 'bench/RESULTS.md')] = process.argv.slice(2)
const git = (...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 })

/** Returns the words that look like abbreviated commits. */
function commitsIn(text: string): ReadonlySet<string> {
  const words = text.match(/\b[0-9a-f]{7,40}\b/g) ?? []
  return new Set(words.filter((word) => /\d/.test(word) && /[a-f]/.test(word)))
}

const history = git('rev-list', 'HEAD').split('\n')
const named = [...commitsIn(readFileSync(file, 'utf8'))]
// A shallow clone does not contain older ones.
const isShallow = git('rev-parse', '--is-shallow-repository').trim() === 'true'
const unknown = isShallow ? [] : named.filter((name) => !history.some((commit) => commit.startsWith(name)))
for (const name of unknown)
  console.error(
    `${file}: commit ${name} is not in this history; measure it again with: npm run bench -- --write SUBJECT`,
  )
console.log(
  `results: ${named.length} commits, ${unknown.length} unknown${isShallow ? ' (shallow clone)' : ''}`,
)
process.exitCode = unknown.length === 0 ? 0 : 1
