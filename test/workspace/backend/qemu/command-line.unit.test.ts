import { expect, test } from 'vitest'
import { qemuArguments } from '../../../../src/workspace/backend/qemu/command-line.ts'
import { machine, TAP } from '../../../support/workspace/machine/machine.ts'

const after = (argv: readonly string[], option: string) =>
  argv.flatMap((word, i) => (word === option ? [argv[i + 1] ?? ''] : []))

test('the image’s drive precedes the workspace’s own and is read-only', () => {
  const drives = after(qemuArguments(machine(), 'tcg', 'hybrid'), '-drive')
  expect(drives[0]).toMatch(/^id=lower,.*readonly=on/)
  expect(drives[1]).toMatch(/^id=upper,.*discard=unmap/)
})

test('a comma in a path is escaped', () => {
  const [, upper] = after(
    qemuArguments(machine({ upper: '/a,readonly=on/upper' }), 'tcg', 'serial'),
    '-drive',
  )
  expect(upper).toContain('file=/a,,readonly=on/upper,')
})

test.each(['tcg', 'kvm'] as const)('%s: QEMU itself must not start programs', (accelerator) => {
  const argv = qemuArguments(machine({ network: TAP }), accelerator, 'vsock')
  expect(after(argv, '-sandbox')).toEqual([expect.stringMatching(/^on,.*spawn=deny/)])
})

test('devices use the VM’s bus', () => {
  const kinds = (accelerator: 'tcg' | 'kvm') =>
    after(qemuArguments(machine({ network: TAP }), accelerator, 'hybrid'), '-device').map(
      (each) => each.split(',')[0],
    )
  expect(kinds('tcg').every((kind) => kind?.endsWith('-pci'))).toBe(true)
  expect(kinds('kvm').every((kind) => kind?.endsWith('-device'))).toBe(true)
})

test('a guest formats its disk only on request', () => {
  const words = (commandLine: readonly string[]) =>
    after(qemuArguments(machine({ commandLine }), 'tcg', 'hybrid'), '-append')[0]
  expect(words(['workspace.format=1'])).toContain('workspace.format=1')
  expect(words([])).not.toContain('workspace.format')
})

test('memory that a guest frees is returned to the host', () => {
  const devices = after(qemuArguments(machine(), 'tcg', 'hybrid'), '-device')
  expect(devices).toContain('virtio-balloon-pci,free-page-reporting=on')
})
