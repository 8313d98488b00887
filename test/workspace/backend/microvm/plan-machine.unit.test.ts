import { expect, test } from 'vitest'
import type { SnapshotRecord } from '../../../../src/workspace/backend/microvm/files/snapshot-record.ts'
import { planMachine } from '../../../../src/workspace/backend/microvm/plan-machine.ts'
import type { ImageStore } from '../../../../src/workspace/image/image-store.ts'
import { backendCreate } from '../../../support/workspace/backend/backend-create.ts'

const SNAPSHOT = {
  image: 'base',
  digest: 'sha256:0',
  repo: '',
  forwardPorts: [3000],
  environment: { A: 'of the snapshot', B: 'of the snapshot' },
  isFormatted: true,
  upperBytes: 2 ** 30,
  cpus: 1,
  memoryMb: 512,
} as unknown as SnapshotRecord

async function environmentOf(change: object): Promise<object> {
  const from = { kept: undefined, snapshot: SNAPSHOT }
  const defaults = { cpus: 1, memoryMb: 512, upperBytes: 2 ** 30 }
  const request = backendCreate('demo', 'base', change)
  return (await planMachine(request, from, {} as ImageStore, defaults)).metadata.environment
}

test('a machine from a snapshot has its environment, and on top of it that of the request', async () => {
  expect(await environmentOf({ environment: { B: 'of the request' } })).toEqual({
    A: 'of the snapshot',
    B: 'of the request',
  })
})

test('a machine without a proxy does not take over the variables for that of the snapshot', async () => {
  const foreignEnvironment = { A: 'of the snapshot', B: 'other', C: '' }
  expect(await environmentOf({ foreignEnvironment })).toEqual({ B: 'of the snapshot' })
})
