import { expect, test } from 'vitest'
import { enterFolder, LIMIT_MS } from '../support/hostile/entered-folder.ts'
import { HOSTILE_FOLDERS } from '../support/hostile/hostile-folders.ts'

// A sample; test/long/untrusted-folder.test.ts enters the others.
const sample = HOSTILE_FOLDERS.filter((_, at) => at % 5 === 0)

test.each(sample)(
  'V9 no client command sends, runs or writes anything in a folder with %s',
  { timeout: LIMIT_MS + 30_000 },
  async (_what, fill) => {
    const { ended, harm } = await enterFolder(fill)
    expect(harm).toEqual([])
    expect(ended.length).toBeGreaterThan(70)
  },
)

test('the corpus keeps its size', () => {
  expect(HOSTILE_FOLDERS.length).toBeGreaterThanOrEqual(25)
})
