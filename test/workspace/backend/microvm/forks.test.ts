import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { cloneFile } from '../../../../src/lib/fs/copy-sparse.ts'
import type { MemorySaver } from '../../../../src/workspace/backend/microvm/driver.ts'
import { checkSpace } from '../../../../src/workspace/backend/microvm/files/check-space.ts'
import { MachineFiles } from '../../../../src/workspace/backend/microvm/files/machine-files.ts'
import type { Metadata } from '../../../../src/workspace/backend/microvm/files/metadata.ts'
import { readPinnedDigests } from '../../../../src/workspace/backend/microvm/files/pinned-digests.ts'
import { MachineForks } from '../../../../src/workspace/backend/microvm/machine-forks.ts'
import { QemuDriver } from '../../../../src/workspace/backend/qemu/qemu-driver.ts'
import { guestIdentity } from '../../../../src/workspace/backend/microvm/guest/guest-identity.ts'
import { macOf } from '../../../../src/workspace/backend/microvm/network/network.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { MACHINE_METADATA as METADATA } from '../../../support/workspace/machine/machine-metadata.ts'

/** A machine that runs, as far as its metadata shows. */
const RUNNING: Metadata = {
  ...METADATA,
  run: {
    hostBoot: 'boot',
    processes: [{ pid: 2, began: 'then' }],
    line: 'serial',
    isReady: true,
    ipAddress: '',
    agentToken: 'token-of-the-source',
    consoleStart: 0,
  },
}
const never = new AbortController().signal
let root: string
let files: MachineFiles
/** Steps of the machine, in order. */
let steps: string[]
beforeEach(async () => {
  root = tempDir()
  files = new MachineFiles(root)
  steps = []
  await files.begin('demo')
  await files.write(METADATA)
  await files.makeUpper('demo', METADATA.upperBytes)
  await files.begin('child')
})

/** Forks of a machine without a monitor. */
function forksOf({
  isRunning = true,
  canPause = true,
  canFreeze = false,
  pause = () => Promise.resolve(),
}: {
  readonly isRunning?: boolean
  readonly canPause?: boolean
  readonly canFreeze?: boolean
  readonly pause?: () => Promise<void>
} = {}): MachineForks {
  const options = {
    binary: 'none',
    accel: 'tcg',
    root,
    vhostDeviceVsock: undefined,
    virtiofsd: undefined,
  } as const
  const memory: MemorySaver = {
    cannotSave: () => undefined,
    save(_at, path) {
      steps.push('save')
      writeFileSync(path, 'memory')
      return Promise.resolve('QEMU 7')
    },
    pause() {
      steps.push('pause')
      return pause()
    },
    unpause() {
      steps.push('unpause')
      return Promise.resolve()
    },
  }
  return new MachineForks({
    machines: files,
    driver: Object.assign(new QemuDriver(options), { memory: canPause ? memory : undefined }),
    socketDirOf: () => root,
    exec(_name, { argv }) {
      steps.push(argv.join(' '))
      return Promise.reject(new Error('without an agent'))
    },
    exclusively: async (name, work) => work(await files.get(name)),
    isRunning: () => Promise.resolve(isRunning),
    runner: () => ({
      freeze() {
        steps.push('freeze')
        return canFreeze ? Promise.resolve() : Promise.reject(new Error('the image is older than the server'))
      },
      setClock() {
        steps.push('clock')
        return Promise.resolve()
      },
    }),
  })
}

test('a running machine is paused only while its disk is copied, and its clock is set', async () => {
  writeFileSync(files.upperOf('demo'), 'content')
  const forks = forksOf({
    pause() {
      writeFileSync(files.upperOf('demo'), 'flushed')
      return Promise.resolve()
    },
  })
  const { id, pausedMs } = await forks.take('demo', { children: 2, memory: undefined }, never)
  expect(pausedMs).toBeGreaterThanOrEqual(0)
  expect(steps).toEqual(['sync', 'pause', 'unpause', 'clock'])
  expect(await forks.read(id)).toMatchObject({ sourceWorkspace: 'demo', digest: METADATA.digest })
  await forks.restore(id, 'child', never)
  expect(readFileSync(files.upperOf('child'), 'utf8')).toBe('flushed')
  await forks.release(id)
  expect(readdirSync(join(root, 'forks'))).toEqual([])
  await expect(forks.read(id)).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
})

test('memory is saved while programs are frozen, before the disk is copied, and only a copy replaces its identity', async () => {
  await files.write(RUNNING)
  const forks = forksOf({ canFreeze: true })
  const taken = await forks.take('demo', { children: 1, memory: true }, never)
  expect(taken.hasMemory).toBe(true)
  expect(steps).toEqual(['sync', 'freeze', 'save', 'unpause', 'clock'])
  const { memory = null } = await forks.read(taken.id)
  expect(memory).toEqual({
    monitor: 'QEMU 7',
    bytes: 6,
    agentToken: 'token-of-the-source',
    copyOf: METADATA.id,
  })
  await forks.restore(taken.id, 'child', never)
  expect(readFileSync(files.memoryOf('child'), 'utf8')).toBe('memory')
  const [first, second] = ['aaaaaaaa', 'bbbbbbbb'].map((id) => guestIdentity({ id, memory }))
  expect(first?.agentToken).not.toBe('token-of-the-source')
  expect(first?.fork?.mac).toEqual({ from: macOf(METADATA.id), to: macOf('aaaaaaaa') })
  for (const key of ['entropy', 'machineId'] as const)
    expect(first?.fork?.[key]).not.toBe(second?.fork?.[key])
  // A machine that continues with its memory keeps its token, which its agent has.
  const own = { monitor: 'QEMU 7', bytes: 6, agentToken: 'token-of-the-source' }
  expect(guestIdentity({ id: METADATA.id, memory: own })).toEqual({ agentToken: 'token-of-the-source' })
  await forks.release(taken.id)
})

test('the memory of a suspended machine is copied, and its programs are not frozen', async () => {
  const memory = { monitor: 'QEMU 7', bytes: 5, agentToken: 'token-of-the-source' }
  await files.write({ ...METADATA, memory })
  writeFileSync(files.memoryOf('demo'), 'saved')
  const forks = forksOf({ isRunning: false })
  const { id, hasMemory } = await forks.take('demo', { children: 1, memory: undefined }, never)
  expect([hasMemory, steps]).toEqual([true, []])
  expect((await forks.read(id)).memory).toEqual({ ...memory, copyOf: METADATA.id })
  const diskOnly = await forks.take('demo', { children: 1, memory: false }, never)
  expect([diskOnly.hasMemory, (await forks.read(diskOnly.id)).memory]).toEqual([false, null])
})

test('memory that cannot be copied is left out, or refused when it is required', async () => {
  await files.write(RUNNING)
  const forks = forksOf({ canFreeze: false })
  expect((await forks.take('demo', { children: 1, memory: undefined }, never)).hasMemory).toBe(false)
  expect(steps).toEqual(['sync', 'freeze', 'pause', 'unpause', 'clock'])
  const required = { children: 1, memory: true }
  await expect(forks.take('demo', required, never)).rejects.toMatchObject({
    code: 'FORK_UNSUPPORTED',
    message: expect.stringContaining('the image is older'),
  })
  await files.write(METADATA)
  await expect(forksOf({ isRunning: false }).take('demo', required, never)).rejects.toMatchObject({
    code: 'FORK_UNSUPPORTED',
    message: expect.stringContaining('it is stopped'),
  })
})

test('a machine that is not running is not paused, and holes stay holes', async () => {
  const upper = await open(files.upperOf('demo'), 'r+')
  await upper.write(Buffer.alloc(4_096, 1), 0, 4_096, 2 ** 29)
  await upper.close()
  const forks = forksOf({ isRunning: false, canPause: false })
  const { id, pausedMs } = await forks.take('demo', { children: 1, memory: undefined }, never)
  expect([pausedMs, steps]).toEqual([0, []])
  await forks.restore(id, 'child', never)
  const { size, blocks } = statSync(files.upperOf('child'))
  expect(size).toBe(METADATA.upperBytes)
  expect(blocks * 512).toBeLessThan(2 ** 20)
})

test('a machine runs on when it cannot be copied, and nothing is left', async () => {
  const failing = forksOf({ pause: () => Promise.reject(new Error('QEMU does not respond')) })
  await expect(failing.take('demo', { children: 1, memory: undefined }, never)).rejects.toMatchObject({
    code: 'BACKEND_ERROR',
    message: expect.stringContaining('QEMU does not respond'),
  })
  expect(steps).toEqual(['sync', 'pause', 'unpause', 'clock'])
  const aborted = AbortSignal.abort(new Error('the server is stopping'))
  await expect(forksOf().take('demo', { children: 1, memory: undefined }, aborted)).rejects.toThrow(
    'the server is stopping',
  )
  expect(steps.slice(4)).toEqual(['sync', 'pause', 'unpause', 'clock'])
  expect(readdirSync(join(root, 'forks'))).toEqual([])
  await expect(
    forksOf({ canPause: false }).take('demo', { children: 1, memory: undefined }, never),
  ).rejects.toMatchObject({
    code: 'FORK_UNSUPPORTED',
    message: expect.stringContaining('stop it first'),
  })
})

test('copies that do not fit are refused before any is made', async () => {
  const path = files.upperOf('demo')
  writeFileSync(path, Buffer.alloc(2 ** 20, 1))
  await checkSpace(path, 1)
  await expect(checkSpace(path, 1e9)).rejects.toMatchObject({
    code: 'BACKEND_ERROR',
    message: expect.stringMatching(/1000000000 copies .* MiB are free; .*prune/),
  })
})

test('a disk that no longer exists is reported', async () => {
  const forks = forksOf({ isRunning: false })
  await files.removeUpper('demo')
  await expect(forks.take('demo', { children: 1, memory: undefined }, never)).rejects.toMatchObject({
    code: 'BACKEND_ERROR',
  })
  expect(await forks.hasLeftovers()).toBe(false)
})

test('a copy pins its image until it is released, and the next server removes it', async () => {
  const forks = forksOf({ isRunning: false })
  await forks.take('demo', { children: 1, memory: undefined }, never)
  await files.removeInstance('demo')
  expect(await readPinnedDigests(root)).toEqual(new Set([METADATA.digest]))
  const partial = join(root, 'forks', '0123456789abcdef')
  mkdirSync(partial)
  writeFileSync(join(partial, '.creating'), '')
  truncateSync(join(partial, '.creating'))
  const next = forksOf()
  expect(await next.hasLeftovers()).toBe(true)
  await next.clear()
  expect([await next.hasLeftovers(), readdirSync(join(root, 'forks'))]).toEqual([false, []])
})

test('a clone is the whole file or nothing', async () => {
  const from = join(root, 'from')
  writeFileSync(from, Buffer.alloc(2 ** 20, 7), { mode: 0o600 })
  const to = join(root, 'to')
  const isCloned = await cloneFile(from, to)
  expect(existsSync(to)).toBe(isCloned)
  if (isCloned) expect(readFileSync(to).equals(readFileSync(from))).toBe(true)
  writeFileSync(to, 'existing')
  await cloneFile(from, to).catch(() => undefined)
  expect(readFileSync(to, 'utf8')).toBe('existing')
})
