import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findAccelerator } from '../../../../src/workspace/backend/qemu/accelerator.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const WITH = 'processor\t: 0\nflags\t\t: fpu vme svm sse\n'
const WITHOUT = 'processor\t: 0\nflags\t\t: fpu vme sse\nbugs\t\t: vmx_something\n'

/** Host files that replace this machine's. */
function host({ device = true, processors = WITH, architecture = 'x64' }) {
  const directory = tempDir()
  const paths = { kvm: join(directory, 'kvm'), processors: join(directory, 'cpuinfo') }
  if (device) writeFileSync(paths.kvm, '')
  writeFileSync(paths.processors, processors)
  return { ...paths, architecture }
}

test.each([
  ['the device and a processor that can', {}, 'kvm'],
  ['no device', { device: false }, 'tcg'],
  ['a device that is of no use: the processor cannot', { processors: WITHOUT }, 'tcg'],
  ['a processor without feature flags', { processors: WITHOUT, architecture: 'arm64' }, 'kvm'],
])('auto, with %s', async (_what, of, found) => {
  expect(await findAccelerator({ accel: 'auto' }, host(of))).toBe(found)
})

test('an explicit setting is not probed', async () => {
  expect(await findAccelerator({ accel: 'kvm' }, host({ device: false }))).toBe('kvm')
})
