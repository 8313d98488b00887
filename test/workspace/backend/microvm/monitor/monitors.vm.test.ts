import { chmodSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../../../src/lib/process/package.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { FirecrackerDriver } from '../../../../../src/workspace/backend/firecracker/firecracker-driver.ts'
import type { Driver } from '../../../../../src/workspace/backend/microvm/driver.ts'
import { VzDriver } from '../../../../../src/workspace/backend/vz/vz-driver.ts'
import { findMachine } from '../../../../../src/workspace/backend/microvm/stray-machines.ts'
import { createIn, outputOf, sh } from '../../../../support/workspace/backend/backends.ts'
import { tempDir } from '../../../../support/temp-dir.ts'
import { machineRoots, qemuBackend } from '../../../../support/vm/vm-server.ts'

// Neither runs on test machines: stand-ins check their arguments and boot the machine in QEMU.
const standIn = (name: string): string => {
  const file = join(tempDir(), name)
  const script = join(packageRoot, 'test/support/vm', `fake-${name}.ts`)
  writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`)
  chmodSync(file, 0o755)
  return file
}
const firecracker = (root: string, jailer?: string): Driver =>
  new FirecrackerDriver({ binary: standIn('firecracker'), jailer, root, kvm: '/dev/null' })
const MONITORS: readonly {
  readonly kind: string
  readonly how: string
  readonly driver: (root: string) => Driver
}[] = [
  { kind: 'firecracker', how: 'firecracker’s', driver: (root) => firecracker(root) },
  {
    kind: 'firecracker',
    how: 'its jailer’s and firecracker’s',
    driver: (root) => firecracker(root, standIn('jailer')),
  },
  { kind: 'vz', how: 'vz’s', driver: () => new VzDriver({ vfkit: standIn('vfkit') }) },
]

describe.each(MONITORS)('behind $how own interface', ({ kind, driver }) => {
  const roots = machineRoots()
  afterEach(() => roots.remove())

  test('a machine boots, keeps its files and stops', async () => {
    const backend = await qemuBackend(roots, { driver: driver(roots.root), network: 'none' })
    await backend.open(() => undefined)
    try {
      const made = await createIn(backend, 'demo')
      expect(made).toMatchObject({ backend: kind, state: { is: 'running' } })
      const { stdout } = await outputOf(backend, 'demo', sh('echo kept > /workspace/file; hostname'))
      expect(stdout).toBe('demo\n')
      // It is found by its disk even if all other records are lost.
      const holders = await findMachine({ disk: join(roots.root, 'uppers/demo/upper.ext4') })
      expect(holders.map(({ pid }) => pid)).toContain(made.pid)
      expect(await backend.stop('demo')).toMatchObject({ state: { is: 'stopped' }, pid: 0 })
      await backend.start('demo')
      expect(await outputOf(backend, 'demo', sh('cat /workspace/file'))).toMatchObject({ stdout: 'kept\n' })
      await backend.remove('demo', false)
      expect(await backend.list()).toEqual([])
      expect(globSync('jail/*/*', { cwd: roots.root })).toEqual([])
    } finally {
      await backend.remove('demo', false)
      await backend.close()
    }
  })
})
