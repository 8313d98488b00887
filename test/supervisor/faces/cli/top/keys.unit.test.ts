import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../../../src/lib/process/package.ts'
import { KEYS, MOUSE } from '../../../../../src/supervisor/faces/cli/top/state/keys.ts'
import { helpRows } from '../../../../../src/supervisor/faces/cli/top/view/help.ts'

test('the reference lists the keys of the help', () => {
  const page = readFileSync(join(packageRoot, 'docs/supervisor/cli.md'), 'utf8')
  const section = page.split(/^## /m).find((each) => each.startsWith('Live view')) ?? ''
  const rows = [...section.matchAll(/^\| (`.*`) \| (.*) \|$/gm)].map(([, keys = '', does]) => [
    keys.replaceAll('`', ''),
    does,
  ])
  expect(rows).toEqual([...KEYS, ...MOUSE].map(({ shown, does }) => [shown, does]))
})

test('the help fits a terminal of 80 x 24', () => {
  expect(helpRows(80).length).toBeLessThanOrEqual(24)
})

test('a key gives one command', () => {
  const keys = KEYS.flatMap((each) => Object.keys(each.keys))
  expect(new Set(keys).size).toBe(keys.length)
})
