import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DockerImages } from '../../../src/workspace/backend/docker/images/images.ts'
import { MicrovmImages } from '../../../src/workspace/image/microvm-images.ts'
import { boot, newUpper, saidByInit } from '../../support/vm/boot.ts'
import { docker, uniqueName } from '../../support/engine/docker.ts'
import { openStore } from '../../support/workspace/machine/images.ts'
import { startRegistry } from '../../support/services/registry.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { converter, guestDir, pack, POWER_OFF, tinyTree } from '../../support/workspace/machine/tiny-image.ts'

async function engine(): Promise<DockerImages> {
  const images = new DockerImages(process.env['DOCKER_HOST'])
  await images.open()
  onTestFinished(() => images.close())
  return images
}

/** Creates an engine image with only a shell. */
async function imported(name: string, change = 'USER workspace'): Promise<string> {
  const archive = pack(tinyTree())
  const changes = [change, 'WORKDIR /work', 'ENV LANG=C.UTF-8'].flatMap((line) => ['--change', line])
  const id = await docker('import', ...changes, archive, name)
  onTestFinished(() =>
    docker('rmi', '-f', id).then(
      () => undefined,
      () => undefined,
    ),
  )
  return id
}

/** Waits until the exported containers are removed, which happens after the stream ends. */
const exportsAreGone = () =>
  waitFor(
    'the end of the exports',
    async () => (await docker('ps', '-aq', '--filter', 'label=workspace.image-export')) === '',
  )

const work = (messages: string[] = []) => ({
  progress: (message: string) => void messages.push(message),
  signal: new AbortController().signal,
})

test('an engine image is converted to a bootable VM image once', async () => {
  const name = `${uniqueName('vm')}:1`
  const id = await imported(name)
  const parts = await converter({ guestDir: guestDir(`echo "guest: up"; ${POWER_OFF}`) })
  const images = new MicrovmImages(parts, await engine())
  const messages: string[] = []
  const first = await images.pull({ dockerRef: name, tag: '' }, work(messages))
  expect(first.tag).toBe(name.replace(':', '-'))
  expect(messages.at(-1)).toBe('checking the file system')
  const again: string[] = []
  expect(await images.pull({ dockerRef: name, tag: 'other' }, work(again))).toEqual({
    tag: 'other',
    digest: first.digest,
  })
  expect(again).toEqual([])
  expect(await images.inspect(name, true)).toMatchObject({
    sourceRef: name,
    sourceRefDigest: id,
    digest: first.digest,
  })
  expect((await images.list()).map(({ tag }) => tag).toSorted()).toEqual([first.tag, 'other'].toSorted())
  const image = await parts.store.resolve(name)
  const config = execFileSync('debugfs', ['-R', 'cat /opt/workspace/image.json', image.rootfs], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  expect(JSON.parse(config)).toMatchObject({
    user: 'workspace',
    workDir: '/work',
    environment: { LANG: 'C.UTF-8' },
  })
  const console = await boot(image, newUpper(), { words: 'workspace.format=1' })
  expect(saidByInit(console).at(-1)).toBe('workspace-init: ready')
  expect(console).toContain('guest: up')
  await exportsAreGone()
})

test('concurrent pulls of one image cause one conversion', async () => {
  const name = `${uniqueName('vm')}:1`
  await imported(name)
  const parts = await converter()
  const images = new MicrovmImages(parts, await engine())
  const messages: string[] = []
  const all = await Promise.all(
    [1, 2, 3, 4].map((n) => images.pull({ dockerRef: name, tag: `t${n}` }, work(messages))),
  )
  expect(new Set(all.map(({ digest }) => digest)).size).toBe(1)
  expect(messages.filter((message) => message === 'checking the file system')).toHaveLength(1)
  expect(readdirSync(join(parts.store.root, 'blobs/sha256'))).toHaveLength(1)
})

test('an image is pulled by tag and digest, again when the tag moves, and from the engine when the registry is down', async () => {
  const registry = await startRegistry()
  const reference = `${registry.address}/team/app:1`
  const push = async (change: string): Promise<string> => {
    const id = await imported(reference, change)
    await docker('push', '-q', reference)
    const [digest = ''] = (await docker('inspect', '-f', '{{join .RepoDigests "\\n"}}', id)).split('\n')
    await docker('rmi', '-f', id)
    return digest
  }
  const parts = await converter()
  const images = new MicrovmImages(parts, await engine())
  const byDigest = await push('USER one')
  const first = await images.pull({ dockerRef: reference, tag: '' }, work())
  expect(first.tag).toBe('app-1')
  expect(await images.pull({ dockerRef: byDigest, tag: 'pinned' }, work())).toEqual({
    tag: 'pinned',
    digest: first.digest,
  })
  await push('USER two')
  const second = await images.pull({ dockerRef: reference, tag: '' }, work())
  expect(second.digest).not.toBe(first.digest)
  expect((await parts.store.resolve('app-1')).digest).toBe(second.digest)
  expect((await parts.store.resolve('pinned')).digest).toBe(first.digest)
  await registry.stop()
  const messages: string[] = []
  expect(await images.pull({ dockerRef: reference, tag: 'late' }, work(messages))).toMatchObject({
    digest: second.digest,
  })
  expect(messages.join('\n')).toMatch(/pulling .* failed \(.*\); using the local copy/)
  await docker('rmi', '-f', reference)
  await expect(images.pull({ dockerRef: reference, tag: '' }, work())).rejects.toMatchObject({
    code: 'REGISTRY_UNAVAILABLE',
  })
})

test('F5 an export to a full disk fails and leaves no container', async () => {
  const name = `${uniqueName('vm')}:1`
  await imported(name)
  const root = join(tempDir(), 'small')
  mkdirSync(root)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', root])
  onTestFinished(() => void execFileSync('umount', ['-l', root]))
  const images = new MicrovmImages(await converter({ store: await openStore({ root }) }), await engine())
  await expect(images.pull({ dockerRef: name, tag: '' }, work())).rejects.toThrow('the disk is full')
  expect(readdirSync(join(root, 'blobs/sha256'))).toEqual([])
  await exportsAreGone()
})

test('the engine’s own images are listed, inspected, tagged and removed, and one in use stays', async () => {
  const name = `${uniqueName('vm')}:1`
  const id = await imported(name)
  const images = await engine()
  expect(await images.list()).toContainEqual(
    expect.objectContaining({
      name,
      backend: 'docker',
      dockerRef: name,
      digest: id,
      isCached: true,
      isInUse: false,
    }),
  )
  expect(await images.inspect(name)).toMatchObject({
    digest: id,
    arch: process.arch,
    backend: 'docker',
    sourceRef: name,
  })
  const other = name.replace(':1', ':2')
  await images.tag(name, other)
  expect((await images.list()).filter(({ digest }) => digest === id)).toHaveLength(2)
  await images.remove(other)
  const container = await docker('create', name, '/bin/sh')
  onTestFinished(() =>
    docker('rm', '-f', container).then(
      () => undefined,
      () => undefined,
    ),
  )
  expect((await images.list()).find((image) => image.name === name)?.isInUse).toBe(true)
  await expect(images.remove(id)).rejects.toMatchObject({ code: 'IMAGE_IN_USE' })
  await docker('rm', container)
  await images.remove(name)
  expect(await images.has(name)).toBe(false)
  for (const ask of [() => images.inspect(name), () => images.remove(name), () => images.tag(name, other)])
    await expect(ask()).rejects.toMatchObject({ code: 'IMAGE_NOT_FOUND' })
  for (const target of ['--privileged', 'A/b', 'a:b:c', '../x'])
    await expect(images.tag('workspace-base:1', target)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
})

test('an image for another architecture is refused', async () => {
  const parts = await converter()
  const source = await (await engine()).source('workspace-base:1', work())
  const images = new MicrovmImages(parts, { source: () => Promise.resolve({ ...source, arch: 'riscv64' }) })
  await expect(images.pull({ dockerRef: 'workspace-base:1', tag: '' }, work())).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
  })
})
