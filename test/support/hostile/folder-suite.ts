import { expect, test } from 'vitest'
import { enterFolder, LIMIT_MS } from './entered-folder.ts'
import type { HOSTILE_FOLDERS } from './hostile-folders.ts'

/** Tests that client commands are harmless in each of some folders. */
export function testFolders(folders: typeof HOSTILE_FOLDERS): void {
  test.each(folders)(
    'V9 no client command sends, runs or writes anything in a folder with %s',
    { timeout: LIMIT_MS + 30_000 },
    async (_what, fill) => {
      const { ended, harm } = await enterFolder(fill)
      expect(harm).toEqual([])
      expect(ended.length).toBeGreaterThan(70)
    },
  )
}
