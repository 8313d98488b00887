import { expect, test } from 'vitest'
import { unusablePath, vfkitArguments } from '../../../../src/workspace/backend/vz/command-line.ts'
import { machine, TAP } from '../../../support/workspace/machine/machine.ts'

// vfkit's options and the arguments of its devices, from doc/usage.md of crc-org/vfkit at b2bc27e50b61;
// `readonly` of virtio-blk is only in its pkg/config/virtio.go. true: with a value, false: without.
const OPTIONS = ['--cpus', '--memory', '--bootloader', '--device', '--restful-uri']
const ARGUMENTS: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  linux: { kernel: true, initrd: true, cmdline: true },
  'virtio-blk': { path: true, readonly: false },
  'virtio-rng': {},
  'virtio-balloon': {},
  'virtio-serial': { logFilePath: true },
  'virtio-vsock': { port: true, socketURL: true, connect: false },
  'virtio-net': { nat: false, mac: true },
  'virtio-fs': { sharedDir: true, mountTag: true },
}

/** Each option with its value, split into named parts. */
function parse(argv: readonly string[]) {
  return argv.flatMap((option, i) => {
    if (i % 2 === 1) return []
    const value = argv[i + 1] ?? ''
    if (option !== '--device' && option !== '--bootloader') return [{ option, value, kind: '', parts: {} }]
    const [kind = '', ...words] = value.match(/(?:[^,"]|"[^"]*")+/g) ?? []
    const parts = Object.fromEntries(
      words.map((word) => {
        const at = word.indexOf('=')
        return at < 0 ? [word, false] : [word.slice(0, at), word.slice(at + 1)]
      }),
    )
    return [{ option, value, kind, parts }]
  })
}

test.each([
  ['a machine', machine()],
  ['one on a network', machine({ network: TAP })],
  ['one with a shared directory', machine({ share: { tag: 'workspace', directory: '/Users/me/src' } })],
])('every argument for %s is documented by vfkit', (_what, made) => {
  for (const { option, kind, parts } of parse(vfkitArguments(made))) {
    expect(OPTIONS).toContain(option)
    for (const [name, value] of Object.entries(parts)) {
      expect(Object.keys(ARGUMENTS[kind] ?? {})).toContain(name)
      expect(value !== false).toBe(ARGUMENTS[kind]?.[name])
    }
  }
})

test('the image’s drive precedes the workspace’s own and is read-only', () => {
  const drives = parse(vfkitArguments(machine())).filter(({ kind }) => kind === 'virtio-blk')
  expect(drives.map(({ parts }) => parts)).toEqual([
    { path: '/images/blobs/sha256/abc/rootfs.ext4', readonly: false },
    { path: '/root/uppers/demo/upper.ext4' },
  ])
})

test('the kernel’s command line is quoted as vfkit requires', () => {
  const bootloader = parse(vfkitArguments(machine())).find(({ option }) => option === '--bootloader')
  expect(bootloader?.parts).toMatchObject({
    cmdline: expect.stringMatching(/^"console=hvc0 .*workspace\.format=1"$/),
  })
})

test('the host connects to the agent, and the guest to the bus, through the VM’s sockets', () => {
  const vsock = parse(vfkitArguments(machine())).filter(({ kind }) => kind === 'virtio-vsock')
  expect(vsock.map(({ parts }) => parts)).toEqual([
    { port: '1025', socketURL: '/run/vm/0a1b2c3d/port.sock_1025', connect: false },
    { port: '1024', socketURL: '/run/vm/0a1b2c3d/vsock.sock_1024' },
  ])
})

test.each(['/with,comma/upper.ext4', '/with"quote/upper.ext4'])('%s is refused for vfkit', (upper) => {
  expect(unusablePath(machine({ upper }))).toBe(upper)
  expect(unusablePath(machine())).toBeUndefined()
})
