import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

/** The cells of the rows of tables, without heads. */
function rowsOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
}

/** Results of `bench/RESULTS.md` by the name of their benchmark. */
const results = new Map(
  read('bench/RESULTS.md')
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf(',')), section] as const),
)

/** The ratios of a result: those that it names, otherwise those of two rows in one column. */
function ratiosOf(section: string): readonly number[] {
  // A range is that of single runs.
  const named = [...section.matchAll(/(?<![–\d.])([\d.]+)×/g)].map(([, value]) => Number(value))
  if (named.length > 0) return named
  const rows = rowsOf(section).map((row) => row.map((cell) => Number(/[\d.]+/.exec(cell)?.[0])))
  return rows.flatMap((one) =>
    rows.flatMap((other) => one.map((value, column) => value / (other[column] ?? Number.NaN))),
  )
}

test('every ratio in the comparison is one of the results that it names', () => {
  let name = ''
  const wrong: string[] = []
  for (const row of rowsOf(read('docs/comparison.md'))) {
    const what = row.at(-1) ?? ''
    name = /^`(.*)`$/.exec(what)?.[1] ?? (what === 'the same' ? name : '')
    if (name === '') continue
    const ratios = ratiosOf(results.get(name) ?? '')
    for (const [shown] of row.join(' ').matchAll(/[\d.]+(?=×|–[\d.]+×)/g)) {
      // Half of the last place that is shown, or a hundredth.
      const decimals = shown.split('.')[1]?.length ?? 0
      const most = Math.max(0.5 / 10 ** decimals, Number(shown) / 100) + 1e-9
      if (!ratios.some((ratio) => Math.abs(ratio - Number(shown)) <= most)) wrong.push(`${row[0]}: ${shown}×`)
    }
  }
  expect(wrong).toEqual([])
})
