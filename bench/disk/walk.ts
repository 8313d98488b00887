import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { walkTreesInJs } from '../../src/native/disk-fallback.ts'
import { walkTrees } from '../../src/native/disk.ts'
import { loadAddon } from '../../src/native/load.ts'
import type { Bench } from '../harness.ts'

const directories = 2000
const filesPerDirectory = 100

const bench: Bench = {
  note:
    'Ours is the function in a running server, as it is used; the peer is the whole process, about 1 ms of exec ' +
    'included. All from a warm cache.',

  prepare() {
    const loaded = loadAddon()
    if (loaded.is === 'absent') throw new Error(`the addon is not built: ${loaded.reason}`)
    const tree = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    makeTree(tree)
    // Else the kernel writes 200,000 new files out while the walks are timed.
    execFileSync('sync')
    const files = (directories * filesPerDirectory).toLocaleString('en')
    const du = ['du', '-s', '-B1', tree] as const
    return {
      cases: [
        { name: `walk of ${files} files`, ours: () => walkTrees([tree]), peer: du, peerName: 'du -s' },
        {
          name: `walk of ${files} files, one thread`,
          ours: () => walkTrees([tree], { threads: 1 }),
          peer: du,
          peerName: 'du -s',
        },
        {
          name: `walk of ${files} files, JavaScript fallback`,
          ours: () => walkTreesInJs([tree]),
          peer: du,
          peerName: 'du -s',
        },
      ],
      cleanUp: () => rmSync(tree, { recursive: true }),
    }
  },
}
export default bench

// As in a tree of sources: directories of directories, files of some hundred bytes.
function makeTree(tree: string): void {
  for (let d = 0; d < directories; d++) {
    const directory = join(tree, `group-${Math.floor(d / 50)}`, `directory-${d}`)
    mkdirSync(directory, { recursive: true })
    for (let f = 0; f < filesPerDirectory; f++) {
      writeFileSync(join(directory, `file-${f}.txt`), 'x'.repeat((f % 7) * 100))
    }
  }
}
