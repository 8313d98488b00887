import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, release, type } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compareWith } from './compare.ts'
import { MIN_PAIRS } from './verdict.ts'
import { measure, table, type Bench, type Line } from './harness.ts'

// npm run bench -- [--write] [--runs N] [subject…]     a subject is a folder or file: "disk", "disk/usage"
// npm run bench -- compare [--runs N] [--json FILE] [--fail-at PERCENT] REVISION subject…
//   times a subject's cases in this checkout and in another commit, by turns; exits with 1 if one is proven to be slower by PERCENT

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    write: { type: 'boolean', default: false },
    runs: { type: 'string', default: '7' },
    json: { type: 'string' },
    'fail-at': { type: 'string', default: '15' },
  },
})
const [command, revision] = positionals[0] === 'compare' ? positionals.splice(0, 2) : []
const runs = Number(values.runs)
if (!Number.isInteger(runs) || runs < 1)
  throw new Error(`--runs must be a positive whole number, not "${values.runs}"`)

const here = import.meta.dirname
const files = globSync('*/**/*.ts', { cwd: here })
  .map((file) => file.replace(/\.ts$/, ''))
  .filter(
    (name) => positionals.length === 0 || positionals.some((wanted) => `${name}/`.startsWith(`${wanted}/`)),
  )
  .toSorted()
if (files.length === 0) throw new Error(`no bench matches ${positionals.join(' or ')}`)

if (command === 'compare') {
  const { json, 'fail-at': failAt } = values
  if (revision === undefined || positionals.length === 0)
    throw new Error('name a commit and the subjects to compare, such as: compare HEAD~1 disk/usage')
  if (runs < MIN_PAIRS) throw new Error(`--runs must be at least ${MIN_PAIRS}, not ${runs}`)
  const isFine = await compareWith({ revision, names: files, runs, json, failAt: Number(failAt) })
  process.exit(isFine ? 0 : 1)
}

for (const name of files) {
  const text = await tableOf(name)
  console.log(`\n${text}`)
  if (values.write) putInto(join(here, 'RESULTS.md'), name, text)
}

/** Replaces the section of an earlier run of the same bench. */
function putInto(file: string, name: string, text: string): void {
  const others = readFileSync(file, 'utf8')
    .trim()
    .split(/\n+(?=## )/)
    .filter((section) => !section.startsWith(`## ${name},`))
  writeFileSync(file, `${[...others, text].join('\n\n')}\n`)
}

async function tableOf(name: string): Promise<string> {
  const { default: bench } = (await import(`./${name}.ts`)) as { readonly default: Bench }
  const prepared = await bench.prepare()
  const lines: Line[] = []
  let more: string | undefined
  try {
    for (const one of prepared.cases) lines.push(await measure(one, runs))
    more = await prepared.more?.(runs)
  } finally {
    await prepared.cleanUp()
  }
  const races = lines.length === 0 ? undefined : table(lines)
  return [heading(name), bench.note, races, more].filter((part) => part !== undefined).join('\n\n')
}

function heading(name: string): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: here, encoding: 'utf8' }).trim()
  const [cpu] = cpus()
  const machine = `${cpu?.model.trim() ?? 'unknown CPU'}, ${cpus().length} cores, ${type()} ${release()}, Node ${process.version}`
  return `## ${name}, ${new Date().toISOString().slice(0, 10)}, ${commit}\n\n${machine}; ${runs} runs of each, by turns`
}
