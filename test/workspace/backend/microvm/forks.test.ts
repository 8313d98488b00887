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
import { tempDir } from '../../../support/temp-dir.ts'

const METADATA: Metadata = {
  version: 1,
  name: 'demo',
  id: '0123abcd',
  createdAt: '2026-01-01T00:00:00.000Z',
  image: 'base',
  digest: `sha256:${'0'.repeat(64)}`,
  repo: '',
  forwardPorts: [],
  environment: {},
  cpus: 1,
  memoryMb: 512,
  upperBytes: 2 ** 30,
  isFormatted: true,
  localDir: '',
  isKept: false,
  failure: '',
  run: null,
}
const never = new AbortController().signal
let root: string
let files: MachineFiles
/** What happened to the machine, in order. */
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
  pause = () => Promise.resolve(),
}: {
  readonly isRunning?: boolean
  readonly canPause?: boolean
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
    save: () => Promise.reject(new Error('not used')),
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
    setClock() {
      steps.push('clock')
      return Promise.resolve()
    },
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
  const { id, pausedMs } = await forks.take('demo', 2, never)
  expect(pausedMs).toBeGreaterThanOrEqual(0)
  expect(steps).toEqual(['sync', 'pause', 'unpause', 'clock'])
  expect(await forks.read(id)).toMatchObject({ sourceWorkspace: 'demo', digest: METADATA.digest })
  await forks.restore(id, 'child', never)
  expect(readFileSync(files.upperOf('child'), 'utf8')).toBe('flushed')
  await forks.release(id)
  expect(readdirSync(join(root, 'forks'))).toEqual([])
  await expect(forks.read(id)).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
})

test('a machine that is not running is not paused, and holes stay holes', async () => {
  const upper = await open(files.upperOf('demo'), 'r+')
  await upper.write(Buffer.alloc(4_096, 1), 0, 4_096, 2 ** 29)
  await upper.close()
  const forks = forksOf({ isRunning: false, canPause: false })
  const { id, pausedMs } = await forks.take('demo', 1, never)
  expect([pausedMs, steps]).toEqual([0, []])
  await forks.restore(id, 'child', never)
  const { size, blocks } = statSync(files.upperOf('child'))
  expect(size).toBe(METADATA.upperBytes)
  expect(blocks * 512).toBeLessThan(2 ** 20)
})

test('a machine runs on when it cannot be copied, and nothing is left', async () => {
  const failing = forksOf({ pause: () => Promise.reject(new Error('QEMU does not respond')) })
  await expect(failing.take('demo', 1, never)).rejects.toMatchObject({
    code: 'BACKEND_ERROR',
    message: expect.stringContaining('QEMU does not respond'),
  })
  expect(steps).toEqual(['sync', 'pause', 'unpause'])
  const aborted = AbortSignal.abort(new Error('the server is stopping'))
  await expect(forksOf().take('demo', 1, aborted)).rejects.toThrow('the server is stopping')
  expect(steps.slice(3)).toEqual(['sync', 'pause', 'unpause'])
  expect(readdirSync(join(root, 'forks'))).toEqual([])
  await expect(forksOf({ canPause: false }).take('demo', 1, never)).rejects.toMatchObject({
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
  await expect(forks.take('demo', 1, never)).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
  expect(await forks.hasLeftovers()).toBe(false)
})

test('a copy pins its image until it is released, and the next server removes it', async () => {
  const forks = forksOf({ isRunning: false })
  await forks.take('demo', 1, never)
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
