import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { finishInterrupted } from '../../../../src/workspace/backend/microvm/finish-interrupted.ts'
import { MachineFiles } from '../../../../src/workspace/backend/microvm/files/machine-files.ts'
import type { Metadata } from '../../../../src/workspace/backend/microvm/files/metadata.ts'
import { readPinnedDigests } from '../../../../src/workspace/backend/microvm/files/pinned-digests.ts'
import { MachineCheckpoints } from '../../../../src/workspace/backend/microvm/machine-checkpoints.ts'
import { MachineForks } from '../../../../src/workspace/backend/microvm/machine-forks.ts'
import { QemuDriver } from '../../../../src/workspace/backend/qemu/qemu-driver.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { MACHINE_METADATA } from '../../../support/workspace/machine/machine-metadata.ts'

const METADATA: Metadata = { ...MACHINE_METADATA, upperBytes: 2 ** 20 }
const OWNER = { name: 'demo', createdAt: new Date(METADATA.createdAt) }
const NEW = { createdAt: new Date('2026-02-03T04:05:06.000Z'), reason: 'manual', label: 'text' } as const
const never = new AbortController().signal
let root: string
let files: MachineFiles
beforeEach(async () => {
  root = tempDir()
  files = new MachineFiles(root)
  await files.begin('demo')
  await files.write(METADATA)
  writeFileSync(files.upperOf('demo'), 'first')
})

/** Checkpoints of a machine without a monitor. */
function checkpointsOf(machines = files, canPause = false, isRunning = false): MachineCheckpoints {
  const binary = {
    binary: 'none',
    accel: 'tcg',
    root,
    vhostDeviceVsock: undefined,
    virtiofsd: undefined,
  } as const
  const parts = {
    machines,
    driver: Object.assign(new QemuDriver(binary), canPause ? {} : { memory: undefined }),
    socketDirOf: () => root,
    exec: () => Promise.reject(new Error('without an agent')),
    exclusively: async <T>(name: string, work: (metadata: Metadata) => Promise<T>) =>
      work(await machines.get(name)),
    isRunning: () => Promise.resolve(isRunning),
  }
  const runner = () => ({ freeze: nothing, setClock: nothing, killRemains: nothing })
  return new MachineCheckpoints({ ...parts, forks: new MachineForks({ ...parts, runner }), runner })
}
const nothing = () => Promise.resolve()
const upper = () => readFileSync(files.upperOf('demo'), 'utf8')
const entries = () => readdirSync(join(root, 'checkpoints'))

test('a checkpoint belongs to its machine under every name, and is deleted with it', async () => {
  const checkpoints = checkpointsOf()
  const taken = await checkpoints.take(OWNER, NEW, never)
  expect(await checkpoints.list(OWNER)).toEqual([{ ...NEW, id: taken.id, sizeBytes: expect.any(Number) }])
  expect(entries()).toEqual([`${METADATA.id}-${taken.id}`])
  await files.begin('other')
  await files.write({ ...METADATA, name: 'other', id: '0123abce' })
  expect(await checkpoints.list({ ...OWNER, name: 'other' })).toEqual([])
  await files.rename(METADATA, 'renamed')
  const renamed = { ...OWNER, name: 'renamed' }
  expect(await checkpoints.list(renamed)).toHaveLength(1)
  writeFileSync(files.upperOf('renamed'), 'second')
  await checkpoints.restore(renamed, taken.id, never)
  expect(readFileSync(files.upperOf('renamed'), 'utf8')).toBe('first')
  await checkpoints.removeAll(await files.get('renamed'))
  expect(entries()).toEqual([])
})

test('a checkpoint pins its image, and an incomplete one is removed by the next server', async () => {
  const taken = await checkpointsOf().take(OWNER, NEW, never)
  await files.removeInstance('demo')
  expect(await readPinnedDigests(root)).toEqual(new Set([METADATA.digest]))
  mkdirSync(join(root, 'checkpoints', `${METADATA.id}-partial`))
  const next = checkpointsOf()
  expect(await next.hasLeftovers()).toBe(true)
  await next.clear()
  expect([await next.hasLeftovers(), entries()]).toEqual([false, [`${METADATA.id}-${taken.id}`]])
})

test('a machine that cannot be copied has no checkpoint, and nothing is left', async () => {
  const unsupported = { code: 'CHECKPOINT_UNSUPPORTED' }
  await expect(checkpointsOf(files, false, true).take(OWNER, NEW, never)).rejects.toMatchObject(unsupported)
  await files.write({ ...METADATA, localDir: '/home/me' })
  await expect(checkpointsOf().take(OWNER, NEW, never)).rejects.toMatchObject(unsupported)
  await files.write(METADATA)
  const aborted = AbortSignal.abort(new Error('the server is stopping'))
  await expect(checkpointsOf().take(OWNER, NEW, aborted)).rejects.toThrow('the server is stopping')
  await files.removeUpper('demo')
  await expect(checkpointsOf().take(OWNER, NEW, never)).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
  expect(existsSync(join(root, 'checkpoints')) ? entries() : []).toEqual([])
})

test.each([
  ['removeNextUpper', 'second'],
  ['write', 'second'],
  ['removeMemory', 'second'],
  ['replaceUpper', 'second'],
  ['after replaceUpper', 'first'],
] as const)('a server killed at the step %s of a rewind leaves the disk with "%s"', async (step, content) => {
  const memory = { monitor: 'QEMU 7', bytes: 6, agentToken: 'token-of-the-source' }
  const taken = await checkpointsOf().take(OWNER, NEW, never)
  writeFileSync(files.upperOf('demo'), 'second')
  await files.write({ ...METADATA, memory })
  writeFileSync(files.memoryOf('demo'), 'memory')
  class Killed extends MachineFiles {
    #isDead = false
    override removeNextUpper = (name: string) =>
      this.#at('removeNextUpper', () => super.removeNextUpper(name))
    override write = (metadata: Metadata) => this.#at('write', () => super.write(metadata))
    override removeMemory = (name: string) => this.#at('removeMemory', () => super.removeMemory(name))
    override replaceUpper = (name: string) => this.#at('replaceUpper', () => super.replaceUpper(name))

    async #at(now: string, work: () => Promise<void>): Promise<void> {
      if (this.#isDead || now === step) this.#isDead = true
      else await work()
      if (`after ${now}` === step) this.#isDead = true
      if (this.#isDead) throw new Error('killed')
    }
  }
  await expect(checkpointsOf(new Killed(root)).restore(OWNER, taken.id, never)).rejects.toThrow('killed')
  const metadata = await files.get('demo')
  await finishInterrupted(
    metadata,
    files,
    { killRemains: nothing, unpause: nothing },
    'boot',
    () => undefined,
  )
  expect(upper()).toBe(content)
  expect(existsSync(files.nextUpperOf('demo'))).toBe(false)
  // Memory is never loaded on other files.
  const hasMemory = metadata.memory != null
  expect(hasMemory).toBe(step === 'removeNextUpper' || step === 'write')
  expect(existsSync(files.memoryOf('demo'))).toBe(hasMemory)
  await checkpointsOf().restore(OWNER, taken.id, never)
  expect(upper()).toBe('first')
  expect((await files.get('demo')).memory).toBeNull()
})

test('a checkpoint is current until the disk is written', async () => {
  const checkpoints = checkpointsOf()
  const then = new Date(Date.now() - 60_000)
  utimesSync(files.upperOf('demo'), then, then)
  const { id } = await checkpoints.take(OWNER, NEW, never)
  expect(await checkpoints.isCurrent(OWNER, id)).toBe(true)
  writeFileSync(files.upperOf('demo'), 'second')
  const later = new Date(Date.now() + 60_000)
  utimesSync(files.upperOf('demo'), later, later)
  expect(await checkpoints.isCurrent(OWNER, id)).toBe(false)
  expect(await checkpoints.isCurrent(OWNER, '0'.repeat(16))).toBe(false)
})

test('a checkpoint of an unformatted disk lets the machine format it', async () => {
  await files.write({ ...METADATA, isFormatted: false })
  const taken = await checkpointsOf().take(OWNER, NEW, never)
  await files.write(METADATA)
  await checkpointsOf().restore(OWNER, taken.id, never)
  expect((await files.get('demo')).isFormatted).toBe(false)
})
