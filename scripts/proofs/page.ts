import { OTHER_PROOFS, type SpecifiedPromise } from './promises.ts'
import type { RunRecord } from './record.ts'
import { judge, recoveryText, type TestRun } from './test-runs.ts'

/**
 * Returns the page of the documentation site with every promise and the tests that prove it, in Markdown.
 *
 * @param record results of the last run
 * @param listed the tests without results, which are shown if there is no run
 */
export function proofsPage(
  promises: readonly SpecifiedPromise[],
  record: RunRecord | undefined,
  listed: () => readonly TestRun[],
): string {
  const runs = record === undefined ? listed() : record.runs
  const proofs = promises.map((promise) => ({
    promise,
    tests: runs.filter(({ ids }) => ids.includes(promise.id)),
  }))
  const sections = [...new Set(promises.map(({ section }) => section))]
  return [
    '# Proofs',
    'Every promise of [the specification](SPECIFICATION.md), and the tests that prove it.',
    record === undefined ? NOT_RUN : summary(record, proofs),
    ...sections.flatMap((section) => [
      `## ${section}`,
      overview(proofs.filter(({ promise }) => promise.section === section)),
    ]),
    '## Tests',
    ...proofs.flatMap(details),
  ].join('\n\n')
}

interface Proof {
  readonly promise: SpecifiedPromise
  readonly tests: readonly TestRun[]
}

const NOT_RUN =
  '**Not run here.** This checkout has no results: `.ci/run` and `npm run test:all` record them for this page. It lists the tests of each promise.'

function summary({ startedAt, commit, isChanged }: RunRecord, proofs: readonly Proof[]): string {
  const judged = proofs.filter(({ promise }) => !OTHER_PROOFS.has(promise.id))
  const holding = judged.filter(({ tests }) => judge(tests).holds)
  const changes = isChanged ? ' with uncommitted changes' : ''
  return `Run at ${startedAt} on commit \`${commit}\`${changes}: **${holding.length} of ${judged.length} promises hold.**`
}

function overview(proofs: readonly Proof[]): string {
  const rows = proofs.map(({ promise: { id, text }, tests }) =>
    [`[${id}](#${id.toLowerCase()})`, text, result(id, tests), recoveryText(tests)].join(' | '),
  )
  return ['Id | Promise | Result | Recovery, s', '--- | --- | --- | ---', ...rows]
    .map((row) => `| ${row} |`)
    .join('\n')
}

function result(id: string, tests: readonly TestRun[]): string {
  const command = OTHER_PROOFS.get(id)
  if (command !== undefined) return `proven by \`${command}\``
  return tests.every(({ status }) => status === 'not run') ? 'not run' : judge(tests).text
}

function details({ promise: { id, text }, tests }: Proof): readonly string[] {
  const files = [...new Set(tests.map(({ file }) => file))].toSorted()
  return [
    `### ${id}`,
    `${text} *${result(id, tests)}*`,
    ...files.flatMap((file) => [
      `\`${file}\``,
      tests
        .filter((test) => test.file === file)
        .map(({ status, name }) => `- ${status}: ${escaped(name)}`)
        .join('\n'),
    ]),
  ]
}

/** Escapes the characters that Markdown gives a meaning. */
function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/[\\`*_{}[\]()#+!>-]/g, '\\$&')
}
