import { expect, test } from 'vitest'
import { testFolders } from '../support/hostile/folder-suite.ts'
import { HOSTILE_FOLDERS } from '../support/hostile/hostile-folders.ts'

testFolders(HOSTILE_FOLDERS)

test('the corpus keeps its size', () => {
  expect(HOSTILE_FOLDERS.length).toBeGreaterThanOrEqual(25)
})
