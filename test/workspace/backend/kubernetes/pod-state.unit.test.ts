import { expect, test } from 'vitest'
import type { Pod } from '../../../../src/workspace/backend/kubernetes/api/objects.ts'
import { progressOf, stateOf } from '../../../../src/workspace/backend/kubernetes/pod-state.ts'
import { quantityOf } from '../../../../src/workspace/backend/kubernetes/usage.ts'
import { objectOf } from '../../../support/cluster/fake-api.ts'

const podOf = (status: Pod['status'], metadata: object = {}): Pod => ({
  ...objectOf('ws-a', '1', metadata),
  ...(status !== undefined && { status }),
})
const running = podOf({
  phase: 'Running',
  podIP: '10.0.0.1',
  containerStatuses: [{ name: 'workspace', state: { running: {} } }],
})

test('a workspace with a running pod is running, even if a stop was interrupted', () => {
  expect(stateOf(running, true)).toEqual({ is: 'running' })
  expect(stateOf(running, false)).toEqual({ is: 'running' })
  expect(stateOf(undefined, false)).toEqual({ is: 'stopped' })
  expect(stateOf({ ...running, metadata: { ...running.metadata, deletionTimestamp: 'now' } }, true)).toEqual({
    is: 'stopped',
  })
})

test('a wanted workspace whose pod was deleted is in error', () => {
  expect(stateOf(undefined, true)).toMatchObject({
    is: 'error',
    message: expect.stringContaining('start it'),
  })
})

test.each([
  [
    'a missing image',
    {
      initContainerStatuses: [
        { name: 'user', state: { waiting: { reason: 'ImagePullBackOff', message: 'no' } } },
      ],
    },
    true,
    'container user waits (ImagePullBackOff): no',
  ],
  [
    'the first failure to pull',
    { containerStatuses: [{ name: 'workspace', state: { waiting: { reason: 'ErrImagePull' } } }] },
    false,
    'container workspace waits (ErrImagePull)',
  ],
  [
    'an unbound volume',
    {
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'unbound claims' },
      ],
    },
    false,
    'no node can run its pod (Unschedulable): unbound claims',
  ],
  [
    'an eviction',
    { phase: 'Failed', reason: 'Evicted', message: 'disk' },
    true,
    'its pod failed (Evicted): disk',
  ],
])('%s is described in words', (_, status, isHopeless, waitsFor) => {
  expect(progressOf(podOf(status))).toEqual({ isRunning: false, isHopeless, waitsFor })
  expect(stateOf(podOf(status), true)).toEqual({ is: 'error', message: waitsFor })
})

test('a pod that is being prepared is starting', () => {
  const status = {
    containerStatuses: [{ name: 'workspace', state: { waiting: { reason: 'PodInitializing' } } }],
  }
  expect(stateOf(podOf(status), true)).toEqual({ is: 'starting' })
})

test.each([
  ['5Gi', 5 * 2 ** 30],
  ['1073741824', 2 ** 30],
  ['1.5G', 1.5e9],
  [undefined, 0],
  ['nonsense', 0],
])('the quantity %s is %d bytes', (text, bytes) => {
  expect(quantityOf(text)).toBe(bytes)
})
