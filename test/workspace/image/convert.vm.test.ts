import { execFileSync } from 'node:child_process'
import {
  chownSync,
  createReadStream,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { convert } from '../../../src/workspace/image/convert/convert.ts'
import { tarSource } from '../../../src/workspace/image/source/tar-source.ts'
import { sha256, unfinishedBlobs } from '../../support/workspace/machine/images.ts'
import { tempDir } from '../../support/temp-dir.ts'
import {
  POWER_OFF,
  convertTar,
  converter,
  guestDir,
  pack,
  tinyTree,
} from '../../support/workspace/machine/tiny-image.ts'
import { testKernel } from '../../support/vm/vm-parts.ts'
import { longestStall } from '../../support/longest-stall.ts'
import { waitFor } from '../../support/wait-for.ts'
import { convertInChild } from '../../support/vm/convert-in-child.ts'

/** Returns debugfs's information about a path inside a file system. */
const inside = (rootfs: string, request: string): string =>
  execFileSync('debugfs', ['-R', request, rootfs], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

test('the same archive yields the same bytes at another time and in another store and directory', async () => {
  const archive = pack(tinyTree())
  const guest = guestDir(POWER_OFF)
  const first = await convertTar(await converter({ guestDir: guest }), archive)
  // Wait for a new second, so that all unpacked files get different times.
  await waitFor('the next second', () => Date.now() - Date.parse(first.manifest.createdAt) > 1_100)
  const parts = await converter({ guestDir: guest })
  const stream = await tarSource(createReadStream(archive), { ...parts, name: 'elsewhere' })
  const second = await convert(parts, stream, { progress: () => undefined })
  await stream.close()
  expect(second.files).toEqual(first.manifest.files)
  expect(second.digest).toBe(first.manifest.digest)
  expect(unfinishedBlobs(parts.store)).toEqual([])
  const { rootfs, kernel, initrd } = await parts.store.resolve(second.digest)
  for (const [file, name] of [
    [rootfs, 'rootfs.ext4'],
    [kernel, 'kernel'],
    [initrd, 'initrd'],
  ] as const)
    expect(sha256(readFileSync(file))).toBe(second.files[name].digest)
})

test('an image contains the archive’s files with owners, modes and times, and our files', async () => {
  const tree = tinyTree()
  mkdirSync(join(tree, 'home/user'), { recursive: true })
  writeFileSync(join(tree, 'home/user/secret'), 'secret', { mode: 0o640 })
  utimesSync(join(tree, 'home/user/secret'), 1_500_000_000, 1_500_000_000)
  linkSync(join(tree, 'home/user/secret'), join(tree, 'home/user/same'))
  symlinkSync('/etc/passwd', join(tree, 'home/user/link'))
  writeFileSync(join(tree, '.dockerenv'), '')
  execFileSync('mknod', [join(tree, 'dev/mem'), 'c', '1', '1'])
  const archive = `${tree}.tar`
  chownSync(join(tree, 'home/user/secret'), 1_000, 1_001)
  execFileSync('tar', ['-C', tree, '-cf', archive, '.'])
  const parts = await converter()
  const { manifest, messages } = await convertTar(parts, archive)
  const { rootfs } = await parts.store.resolve(manifest.digest)
  const secret = inside(rootfs, 'stat /home/user/secret')
  expect(secret).toMatch(/Mode: {2}0640/)
  expect(secret).toMatch(/User: +1000 +Group: +1001/)
  expect(secret).toMatch(/Links: 2/)
  expect(secret).toContain('mtime: 0x59682f00')
  expect(inside(rootfs, 'cat /home/user/same')).toBe('secret')
  expect(inside(rootfs, 'stat /home/user/link')).toContain('Fast link dest: "/etc/passwd"')
  expect(inside(rootfs, 'ls -p /dev')).not.toContain('mem')
  expect(inside(rootfs, 'ls -p /')).not.toContain('.dockerenv')
  expect(inside(rootfs, 'cat /opt/workspace/image.json')).toBe('{"user":"","workDir":"","environment":{}}\n')
  expect(inside(rootfs, 'stat /opt/workspace/init')).toMatch(/Mode: {2}0755/)
  expect(inside(rootfs, `ls -p /lib/modules/${testKernel().release}`)).toContain('modules.dep')
  expect(manifest).toMatchObject({
    backend: 'qemu',
    arch: process.arch,
    sourceRef: 'tiny.tar',
    kernelVersion: testKernel().release,
  })
  expect(manifest.rootfsPhysicalBytes).toBe(statSync(rootfs).blocks * 512)
  expect(messages.join('\n')).toMatch(
    /unpacking tiny\.tar\nleft out device nodes and FIFOs.*: 1\n.*kernel.*\ncreating a file system of \d+ MiB\nchecking the file system/,
  )
})

test('an image with systemd gets our units enabled and no machine ID', async () => {
  const tree = tinyTree()
  mkdirSync(join(tree, 'usr/lib/systemd'), { recursive: true })
  writeFileSync(join(tree, 'usr/lib/systemd/systemd'), '')
  writeFileSync(join(tree, 'etc/machine-id'), 'one for all\n')
  const parts = await converter()
  const { manifest } = await convertTar(parts, pack(tree))
  const { rootfs } = await parts.store.resolve(manifest.digest)
  const unit = '/etc/systemd/system/multi-user.target.wants/workspace-agent.service'
  expect(inside(rootfs, `stat ${unit}`)).toContain(
    'Fast link dest: "/etc/systemd/system/workspace-agent.service"',
  )
  expect(inside(rootfs, 'cat /etc/systemd/system/workspace-agent.service')).toContain(
    'ExecStart=/opt/workspace/node',
  )
  expect(inside(rootfs, 'cat /etc/machine-id')).toBe('')
})

test("an image's newest kernel with modules is used", async () => {
  const tree = tinyTree()
  const { file, modules } = testKernel()
  mkdirSync(join(tree, 'boot'))
  mkdirSync(join(tree, 'lib/modules'), { recursive: true })
  execFileSync('cp', ['-a', modules, join(tree, 'lib/modules/6.1.0-9-own')])
  execFileSync('cp', ['-a', modules, join(tree, 'lib/modules/6.1.0-56-own')])
  for (const release of ['6.1.0-9-own', '6.1.0-56-own', '6.1.0-99-without-modules'])
    execFileSync('cp', [file, join(tree, `boot/vmlinuz-${release}`)])
  const parts = await converter({ kernel: { file: '/no/such/kernel', modules: undefined } })
  expect((await convertTar(parts, pack(tree))).manifest.kernelVersion).toBe('6.1.0-56-own')
})

const NOBODY = 65_534

test('an unprivileged user builds the same image as root', async () => {
  const archive = pack(tinyTree())
  const asRoot = await converter()
  const { manifest } = await convertTar(asRoot, archive)
  // The input must be world-readable. This checkout may not be, but a mount of it is.
  const directory = tempDir()
  execFileSync('cp', ['-a', archive, asRoot.guestDir, testKernel().file, testKernel().modules, directory])
  execFileSync('chmod', ['-R', 'a+rX', directory])
  const root = join(directory, 'store')
  mkdirSync(root)
  chownSync(root, NOBODY, NOBODY)
  const { release } = testKernel()
  const kernel = { file: join(directory, `vmlinuz-${release}`), modules: join(directory, release) }
  const task = { root, archive: join(directory, 'tiny.tar'), guestDir: join(directory, 'guest'), kernel }
  const checkout = join(directory, 'checkout')
  mkdirSync(checkout)
  execFileSync('mount', ['--bind', packageRoot, checkout])
  onTestFinished(() => void execFileSync('umount', ['-l', checkout]))
  // As with service managers that grant some capabilities; sandboxes must drop them.
  const withPower = '--inh-caps +net_bind_service --ambient-caps +net_bind_service'
  const asNobody = `setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups ${withPower} --`
  const { lines, ended } = convertInChild(task, asNobody.split(' '), checkout)
  expect([await ended, lines.at(-1)]).toEqual([[0, null], manifest.digest])
})

test('heavy work runs in other processes, and the caller stays responsive', async () => {
  const parts = await converter()
  const archive = pack(tinyTree())
  const beganMs = performance.now()
  const stalledMs = longestStall()
  await convertTar(parts, archive)
  expect(stalledMs()).toBeLessThan((performance.now() - beganMs) / 10)
})
