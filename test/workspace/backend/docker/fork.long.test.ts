import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { messageOf } from '../../../../src/lib/errors/message.ts'
import type { DockerBackend } from '../../../../src/workspace/backend/docker/docker-backend.ts'
import { forkImage } from '../../../../src/workspace/backend/docker/engine/labels.ts'
import {
  docker,
  dockerBackend,
  leftovers,
  removeLeftovers,
  TEST_IMAGE,
  uniqueName,
} from '../../../support/engine/docker.ts'
import { backendCreate } from '../../../support/workspace/backend/backend-create.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { createIn, outputOf, sh } from '../../../support/workspace/backend/backends.ts'

const serverId = randomUUID()
const never = new AbortController().signal
let backend: DockerBackend
let [source, child, sibling] = ['', '', '']
beforeEach(async () => {
  ;[source = '', child = '', sibling = ''] = ['source', 'child', 'sibling'].map((stem) => uniqueName(stem))
  backend = dockerBackend({ serverId })
  await backend.open(() => undefined)
  await createIn(backend, source)
})
afterEach(async () => {
  for (const name of [source, child, sibling]) await removeLeftovers(name)
  await backend.forks.clear()
  await backend.close()
})

const createFork = (name: string, origin: string, signal = never) =>
  backend.create(
    backendCreate(name, TEST_IMAGE, { fork: { origin, from: source }, createdAt: new Date() }),
    () => undefined,
    signal,
  )
const inside = async (name: string, script: string): Promise<string> =>
  (await outputOf(backend, name, sh(script, '0'))).stdout.trim()
/** Engine objects of forks of this test's server. */
const remains = async (): Promise<readonly string[]> => {
  const label = `label=workspace.fork_server=${serverId}`
  const lists = await Promise.all([
    docker('image', 'ls', '--filter', label, '--format', 'image {{.Repository}}:{{.Tag}}'),
    docker('volume', 'ls', '--filter', label, '--format', 'volume {{.Name}}'),
    docker(
      'ps',
      '-a',
      '--filter',
      label,
      '--filter',
      'label=workspace.helper',
      '--format',
      'helper {{.Names}}',
    ),
  ])
  return lists.flatMap((list) => list.split('\n')).filter((line) => line !== '')
}

/** Prepares files of every kind, in the volume and outside of it. */
const FILES = `
set -e
cd /workspace
printf secret >own && chown 1234:4321 own && chmod 4750 own
ln -s /etc/shadow link && ln own hard && mkfifo fifo && mknod null c 1 3 && mkdir -m 1777 dir
truncate -s 1G sparse && printf x >'new
line'
python3 -c 'import os; os.setxattr("own", "user.note", b"kept")' 2>/dev/null || :
touch -d '2001-02-03 04:05:06 UTC' own
echo installed >/opt/tool && chmod 4755 /opt/tool
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
mkdir -p /etc/ssh && ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key 2>/dev/null || echo parent >/etc/ssh/ssh_host_ed25519_key
`
/** Describes them. */
const DESCRIBE = `cd /workspace && find . /opt/tool -printf '%p %y %m %U:%G %n %s %l\\n' | LC_ALL=C sort
stat -c %Y own; stat -c %b sparse; [ own -ef hard ] && echo linked; cat own; stat -c '%t %T' null
python3 -c 'import os; print(os.getxattr("own", "user.note"))' 2>/dev/null || :`

test('the source runs on after each copy, also while programs start in it', async () => {
  const over = new AbortController()
  const start = async (): Promise<void> => {
    // The engine refuses to start a program in a paused container.
    while (!over.signal.aborted) await inside(source, 'true').catch(() => undefined)
  }
  const starting = Array.from({ length: 3 }, start)
  try {
    for (let copy = 0; copy < 5; copy += 1) {
      const { id } = await backend.forks.take(source, { children: 1, memory: undefined }, never)
      await backend.forks.release(id)
    }
  } finally {
    over.abort()
  }
  await Promise.all(starting)
  expect(await inside(source, 'echo runs')).toBe('runs')
})

test('a fork has the files of its source with owners, modes, links, devices and holes, and another identity', async () => {
  expect((await outputOf(backend, source, sh(FILES, '0'))).status).toBe(0)
  const { id, pausedMs } = await backend.forks.take(source, { children: 2, memory: undefined }, never)
  expect(pausedMs).toBeGreaterThan(0)
  expect((await backend.find(source))?.state.is).toBe('running')
  const forks = await Promise.all([child, sibling].map((name) => createFork(name, id)))
  await backend.forks.release(id)
  expect(forks[0]).toMatchObject({
    name: child,
    image: TEST_IMAGE,
    forkedFrom: source,
    state: { is: 'running' },
  })
  expect(await inside(child, DESCRIBE)).toBe(await inside(source, DESCRIBE))
  expect(Number(await inside(child, 'stat -c %b /workspace/sparse'))).toBeLessThan(100)
  // The environment of its creation is in the image.
  expect(await inside(child, 'echo $FROM_CREATION')).toBe('a = b')
  const identity =
    'hostname; cat /etc/machine-id; ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key; od -An -N512 -v -tx1 -w16 /dev/urandom'
  const lines = await Promise.all(
    [source, child, sibling].map(async (name) => (await inside(name, identity)).split('\n')),
  )
  for (const own of lines) {
    const others = lines.filter((each) => each !== own).flat()
    const shared = own.filter((line) => others.includes(line))
    expect(shared).toEqual([])
  }
  expect(lines.map(([hostname]) => hostname)).toEqual([source, child, sibling])
  // What one changes, the others do not have.
  await inside(child, 'echo changed >/workspace/own; rm /opt/tool')
  expect(await inside(sibling, 'cat /workspace/own /opt/tool')).toBe('secretinstalled')
})

test('the image of forks is removed with the last workspace that uses it, and nothing else is left', async () => {
  const { id } = await backend.forks.take(source, { children: 2, memory: undefined }, never)
  await createFork(child, id)
  // A failed sibling must not take the image from the others.
  await backend.remove(child, false)
  await createFork(child, id)
  await createFork(sibling, id)
  expect(await remains()).toEqual(expect.arrayContaining([`image ${forkImage(id)}`, `volume ws-fork_${id}`]))
  await backend.forks.release(id)
  expect(await remains()).toEqual([`image ${forkImage(id)}`])
  const { images } = await backend.usage()
  const [base, ofFork] = [TEST_IMAGE, forkImage(id)].map(
    (name) => images.find((each) => each.name === name)?.size,
  )
  // Its layers below are the base's.
  expect(ofFork?.physicalBytes).toBeLessThan((base?.physicalBytes ?? 0) / 10)
  await backend.remove(source, false)
  await backend.remove(child, false)
  // A fork of a fork uses its image, whose parent is no longer needed by name.
  const second = await backend.forks.take(sibling, { children: 1, memory: undefined }, never)
  await backend.create(
    backendCreate(child, TEST_IMAGE, { fork: { origin: second.id, from: sibling }, createdAt: new Date() }),
    () => undefined,
    never,
  )
  await backend.forks.release(second.id)
  expect((await backend.find(child))?.forkedFrom).toBe(sibling)
  await backend.remove(sibling, false)
  await backend.remove(child, false)
  expect(await remains()).toEqual([])
  for (const name of [source, child, sibling]) expect(await leftovers(name)).toEqual([])
})

test('a stopped workspace and one whose files were all deleted are forked as they are', async () => {
  await inside(
    source,
    'find /workspace -mindepth 1 -delete; chown 4321:1234 /workspace; chmod 700 /workspace',
  )
  await backend.stop(source)
  const { id, pausedMs } = await backend.forks.take(source, { children: 1, memory: undefined }, never)
  expect(pausedMs).toBe(0)
  await createFork(child, id)
  await backend.forks.release(id)
  expect(await inside(child, 'ls -A /workspace; stat -c "%u:%g %a" /workspace')).toBe('4321:1234 700')
  expect((await backend.find(source))?.state.is).toBe('stopped')
})

test('a copy that fails or is aborted leaves nothing, and the workspace runs on', async () => {
  // The source's own cp runs in the helper, and fails as on a full disk.
  await inside(source, `printf '#!/bin/sh\\necho "cp: No space left on device" >&2; exit 1\\n' >/usr/bin/cp`)
  await expect(backend.forks.take(source, { children: 1, memory: undefined }, never)).rejects.toThrow(
    'No space left on device',
  )
  await inside(source, `printf '#!/bin/sh\\nexec sleep 1000\\n' >/usr/bin/cp`)
  const aborted = new AbortController()
  const taking = backend.forks.take(source, { children: 1, memory: undefined }, aborted.signal)
  await expect.poll(remains).toContainEqual(expect.stringContaining('helper'))
  aborted.abort(new Error('enough'))
  await expect(taking).rejects.toThrow('enough')
  expect(await remains()).toEqual([])
  expect((await backend.find(source))?.state.is).toBe('running')
})

test('a server removes what a killed one left of a fork, and continues the workspace it left paused', async () => {
  await inside(source, `printf '#!/bin/sh\\nexec sleep 1000\\n' >/usr/bin/cp`)
  const aborted = new AbortController()
  const taking = backend.forks.take(source, { children: 1, memory: undefined }, aborted.signal)
  await expect.poll(remains).toContainEqual(expect.stringContaining('helper'))
  expect((await backend.find(source))?.state.is).toBe('error')
  const ended = taking.catch(messageOf)
  const next = dockerBackend({ serverId })
  await next.open(() => undefined)
  await next.forks.clear()
  await expect.poll(remains).toEqual([])
  expect((await next.find(source))?.state.is).toBe('running')
  await next.close()
  aborted.abort(new Error('enough'))
  expect(await ended).toMatch(/./)
})

test('nobody creates a workspace from the files of another by the name of their image', async () => {
  const owner = { name: source, createdAt: (await backend.find(source))?.createdAt ?? new Date() }
  const properties = { createdAt: new Date(), reason: 'manual', label: '' } as const
  const { id } = await backend.checkpoints.take(owner, properties, never)
  for (const image of [`ws-checkpoint:${id}`, forkImage(id), `docker.io/library/${forkImage(id)}`])
    await expect(
      backend.create(backendCreate(child, image, { createdAt: new Date() }), () => undefined, never),
    ).rejects.toMatchObject({ code: 'INVALID_REQUEST', message: expect.stringContaining('fork') })
  await backend.remove(source, false)
  expect(await remains()).toEqual([])
})

test('a container with files outside of the copy has no checkpoints, and a server removes an incomplete one', async () => {
  const owner = { name: source, createdAt: new Date(0) }
  const properties = { createdAt: new Date(), reason: 'manual', label: '' } as const
  await backend.forks.take(source, { children: 0, memory: false }, never, {
    'workspace.checkpoint_of': source,
  })
  const next = dockerBackend({ serverId })
  await next.open(() => undefined)
  expect(await next.checkpoints.list(owner)).toEqual([])
  await next.checkpoints.recover()
  expect(await remains()).toEqual([])
  await next.close()
  const directory = tempDir()
  await createIn(backend, child, directory)
  await expect(backend.checkpoints.take({ ...owner, name: child }, properties, never)).rejects.toMatchObject({
    code: 'CHECKPOINT_UNSUPPORTED',
    message: expect.stringContaining(directory),
  })
  await docker('rm', '-f', `ws-${source}`)
  const labels = `workspace.server_id=${serverId}`
  const volumes = ['-v', `ws-${source}:/workspace`, '-v', '/var/lib/data']
  await docker('create', '--name', `ws-${source}`, '--label', labels, ...volumes, TEST_IMAGE, 'sleep', '9')
  await expect(backend.checkpoints.take(owner, properties, never)).rejects.toMatchObject({
    code: 'CHECKPOINT_UNSUPPORTED',
    message: expect.stringContaining('/var/lib/data'),
  })
  expect(await remains()).toEqual([])
})
