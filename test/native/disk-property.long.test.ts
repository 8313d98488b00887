import { linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc } from '../support/fast-check.ts'
import { expect, it } from 'vitest'
import { duLogicalBytes, duPhysicalBytes } from '../support/files/du.ts'
import { tempDir } from '../support/temp-dir.ts'
import { walkTree, walkTreeInJs } from '../support/files/walk.ts'
import { rounds } from '../support/rounds.ts'

type Step =
  | { readonly make: 'directory' | 'symlink' | 'link'; readonly at: number; readonly to: number }
  | { readonly make: 'file' | 'sparse'; readonly at: number; readonly bytes: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    make: fc.constantFrom('directory', 'symlink', 'link'),
    at: fc.nat(50),
    to: fc.nat(50),
  }),
  fc.record({ make: fc.constantFrom('file', 'sparse'), at: fc.nat(50), bytes: fc.nat(20_000) }),
)

// Names contain the step's index, so that every step creates something.
function build(root: string, steps: readonly Step[]): void {
  const directories = [root]
  const files: string[] = []
  for (const [index, { at, ...what }] of steps.entries()) {
    const path = join(directories[at % directories.length] ?? root, `${what.make}-${index}`)
    const target = 'to' in what ? files[what.to % files.length] : undefined
    if (what.make === 'directory') {
      mkdirSync(path)
      directories.push(path)
    } else if (what.make === 'symlink') {
      symlinkSync(target ?? '..', path)
    } else if (what.make === 'link') {
      if (target !== undefined) linkSync(target, path)
    } else if ('bytes' in what) {
      writeFileSync(path, what.make === 'file' ? 'x'.repeat(what.bytes) : '')
      if (what.make === 'sparse') truncateSync(path, what.bytes * 1000)
      files.push(path)
    }
  }
}

it('walkTrees, its fallback and du agree when the tree is random', async () => {
  const root = tempDir()
  let round = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const tree = join(root, String(round++))
      mkdirSync(tree)
      build(tree, steps)
      const native = await walkTree(tree)
      expect(native).toEqual(await walkTreeInJs(tree))
      expect(native.physicalBytes).toBe(duPhysicalBytes(tree))
      expect(native.logicalBytes).toBe(duLogicalBytes(tree))
    }),
    { numRuns: rounds(12, 60) },
  )
})
