import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { duPhysicalBytes } from '../support/files/du.ts'
import { tempDir } from '../support/temp-dir.ts'

const disk = new URL('../../src/native/files/disk.ts', import.meta.url).href
const NOBODY = 65_534

/**
 * Walks in a separate process: root can read everything, so it becomes nobody, after loading modules that nobody
 * cannot read.
 */
function walkUnprivileged(path: string, native: string): unknown {
  const program = `
    import { walkTrees } from ${JSON.stringify(disk)}
    await walkTrees([])
    if (process.getuid() === 0) {
      process.setgroups([])
      process.setgid(${NOBODY})
      process.setuid(${NOBODY})
    }
    const { trees: [tree] } = await walkTrees([${JSON.stringify(path)}])
    console.log(JSON.stringify(tree))`
  const out = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    env: { ...process.env, WORKSPACE_NATIVE: native },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  return JSON.parse(out)
}

describe.each([
  { name: 'addon', native: 'on' },
  { name: 'fallback', native: 'off' },
])('$name', ({ native }) => {
  it('walk counts a directory as unreadable when it may not be opened or only be listed', () => {
    const root = tempDir()
    mkdirSync(join(root, 'closed/inner'), { recursive: true })
    mkdirSync(join(root, 'listed'))
    writeFileSync(join(root, 'listed/file'), 'x')
    writeFileSync(join(root, 'file'), 'x')
    const physicalBytes =
      duPhysicalBytes(root) -
      duPhysicalBytes(join(root, 'closed/inner')) -
      duPhysicalBytes(join(root, 'listed/file'))
    chmodSync(root, 0o755)
    chmodSync(join(root, 'closed'), 0)
    chmodSync(join(root, 'listed'), 0o744)
    if (process.getuid?.() !== 0) chmodSync(join(root, 'listed'), 0o644)
    onTestFinished(() => {
      chmodSync(join(root, 'closed'), 0o755)
      chmodSync(join(root, 'listed'), 0o755)
    })
    expect(walkUnprivileged(root, native)).toEqual({
      is: 'measured',
      files: 1,
      directories: 3,
      logicalBytes: 1,
      physicalBytes,
      unreadable: 2,
      firstUnreadable: expect.stringMatching(/closed|listed/) as unknown,
    })
  })

  it('walk throws EACCES when the root may not be opened', () => {
    const root = tempDir()
    chmodSync(root, 0)
    onTestFinished(() => chmodSync(root, 0o755))
    expect(walkUnprivileged(root, native)).toMatchObject({
      code: 'EACCES',
      message: expect.stringContaining(root) as unknown,
    })
  })
})
