import { fc } from '../../../support/fast-check.ts'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { conversionParts } from '../../../../src/workspace/image/convert/conversion-parts.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { rounds } from '../../../support/rounds.ts'

/**
 * Modules that the initrd loads, one that only the root file system has, and other files of the directory.
 */
const FILES = ['virtio_blk.ko', 'ext4.ko', 'overlay.ko', 'virtio_pci.ko', 'usb_storage.ko', 'modules.alias']

/**
 * A kernel with its modules: some are links to files elsewhere, as in distributions that store modules once.
 */
function kernelParts(linked: readonly string[]) {
  const root = tempDir()
  const modules = join(root, 'modules')
  const elsewhere = join(root, 'elsewhere')
  for (const directory of [modules, elsewhere, join(root, 'guest')]) mkdirSync(directory)
  writeFileSync(join(root, 'guest/agent'), 'agent')
  writeFileSync(join(root, 'vmlinuz-6.1.0'), 'kernel')
  for (const name of FILES) {
    const isLinked = linked.includes(name)
    writeFileSync(join(isLinked ? elsewhere : modules, name), `content of ${name}`)
    if (isLinked) symlinkSync(join('../elsewhere', name), join(modules, name))
  }
  const modulesDep = FILES.map((name) => `${name}:\n`).join('')
  writeFileSync(join(modules, 'modules.dep'), modulesDep)
  writeFileSync(join(modules, 'modules.builtin'), '')
  symlinkSync('/usr/src/headers', join(modules, 'build'))
  return { root, modules, parts: () => partsOf(root) }
}

function partsOf(root: string) {
  return conversionParts({
    guestDir: join(root, 'guest'),
    kernel: { file: join(root, 'vmlinuz-6.1.0'), modules: join(root, 'modules') },
  })
}

/** Changes to a file of a kernel's modules, each of which yields another image. */
const CHANGES = {
  'another byte, of the same size and time': (path) => {
    const bytes = readFileSync(path)
    bytes.writeUInt8(bytes.readUInt8(0) ^ 1)
    writeFileSync(path, bytes)
    utimesSync(path, 0, 0)
  },
  'more bytes': (path) => writeFileSync(path, 'x', { flag: 'a' }),
  'no bytes': (path) => writeFileSync(path, ''),
  'another name': (path) => renameSync(path, `${path}.old`),
  'no file': (path) => rmSync(path),
  'another file beside it': (path) => writeFileSync(`${path}.new`, ''),
} satisfies Readonly<Record<string, (path: string) => void>>

test('any change to a file of the kernel’s modules yields another image', () => {
  const changes = fc.constantFrom(...(Object.keys(CHANGES) as (keyof typeof CHANGES)[]))
  fc.assert(
    fc.property(fc.constantFrom(...FILES), changes, fc.subarray(FILES), (name, change, links) => {
      const linked = links.filter((link) => link !== name)
      const { modules: directory, parts } = kernelParts(linked)
      const before = parts()
      CHANGES[change](join(directory, name))
      expect(parts().modules).not.toBe(before.modules)
    }),
    { numRuns: rounds(20, 100) },
  )
})

test('a module behind a link counts with the content that the initrd gets', () => {
  const { root, parts } = kernelParts(['ext4.ko'])
  const before = parts()
  writeFileSync(join(root, 'elsewhere/ext4.ko'), 'another')
  expect(parts().modules).not.toBe(before.modules)
})

test('the same kernel elsewhere, with other times and headers, yields the same image', () => {
  const { root, parts } = kernelParts(['ext4.ko'])
  const copy = tempDir()
  cpSync(root, copy, { recursive: true, verbatimSymlinks: true })
  rmSync(join(copy, 'modules/build'))
  symlinkSync('/usr/src', join(copy, 'modules/source'))
  utimesSync(join(copy, 'modules/ext4.ko'), 1, 1)
  chmodSync(join(copy, 'modules/modules.dep'), 0o600)
  expect(partsOf(copy)).toEqual(parts())
})

test('a missing module does not fail an image with its own kernel', () => {
  const { modules, parts } = kernelParts([])
  rmSync(join(modules, 'ext4.ko'))
  expect(parts().modules).toMatch(/^sha256:/)
})
