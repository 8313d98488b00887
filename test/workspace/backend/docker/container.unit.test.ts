import { expect, test } from 'vitest'
import { containerOptions, type ContainerLimits } from '../../../../src/workspace/backend/docker/container.ts'
import type { BackendCreate } from '../../../../src/workspace/backend/backend.ts'
import { backendCreate } from '../../../support/workspace/backend/backend-create.ts'

const LIMITS: ContainerLimits = {
  pidsLimit: 4_096,
  memoryMb: 512,
  noNewPrivileges: false,
  runtime: undefined,
  usernsMode: undefined,
  capAdd: [],
}
const hostConfig = (limits: Partial<ContainerLimits> = {}, request: Partial<BackendCreate> = {}) =>
  containerOptions(
    backendCreate('demo', 'base', request),
    {},
    {
      network: 'own',
      isIsolated: true,
      policy: undefined,
      limits: { ...LIMITS, ...limits },
      user: undefined,
      mountedSocketDir: undefined,
    },
  ).HostConfig

test('a container is limited and cannot forge frames', () => {
  expect(hostConfig()).toMatchObject({
    PidsLimit: 4_096,
    Memory: 512 * 2 ** 20,
    CapDrop: ['NET_RAW'],
    CapAdd: [],
    NetworkMode: 'own',
  })
  expect(hostConfig()).not.toHaveProperty('Privileged')
  expect(hostConfig({}, { memoryMb: 64 })).toMatchObject({ Memory: 64 * 2 ** 20 })
})

test.each([
  [{ runtime: 'runsc' }, { Runtime: 'runsc' }],
  [{ usernsMode: 'auto' }, { UsernsMode: 'auto' }],
  [{ noNewPrivileges: true }, { SecurityOpt: ['no-new-privileges'] }],
  [{ capAdd: ['NET_RAW'] }, { CapAdd: ['NET_RAW'] }],
  [{ pidsLimit: 16 }, { PidsLimit: 16 }],
])('%j is passed to the engine', (limits, expected) => {
  expect(hostConfig(limits)).toMatchObject(expected)
})
