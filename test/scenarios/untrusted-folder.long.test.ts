import { expect, test } from 'vitest'
import { testFolders } from '../support/hostile/folder-suite.ts'
import { HOSTILE_FOLDERS } from '../support/hostile/hostile-folders.ts'

// A sample; test/long/untrusted-folder.test.ts enters the others.
testFolders(HOSTILE_FOLDERS.filter((_, at) => at % 5 === 0))

test('the corpus keeps its size', () => {
  expect(HOSTILE_FOLDERS.length).toBeGreaterThanOrEqual(25)
})
