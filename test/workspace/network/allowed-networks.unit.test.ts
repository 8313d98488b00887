import { expect, test } from 'vitest'
import { AllowedNetworks } from '../../../src/workspace/network/allowed-networks.ts'

test('names are resolved to addresses, and networks are kept', async () => {
  const allowed = new AllowedNetworks(
    { egress: ['10.1.0.0/16', 'a.example', 'b.example'] },
    () => undefined,
    (name) =>
      name === 'a.example'
        ? Promise.resolve(['192.0.2.1', '192.0.2.2'])
        : Promise.reject(new Error('not found')),
  )
  await allowed.start()
  allowed.stop()
  expect(allowed.all).toEqual(['10.1.0.0/16', '192.0.2.1', '192.0.2.2'])
})

test('a mode resolves nothing', async () => {
  const allowed = new AllowedNetworks(
    { egress: 'internet' },
    () => undefined,
    () => {
      throw new Error('looked up')
    },
  )
  await allowed.start()
  expect(allowed.all).toEqual([])
})

test('private addresses of names can be excluded', async () => {
  const allowed = new AllowedNetworks(
    { egress: ['a.example', '192.0.2.9'], isPublicOnly: true },
    () => undefined,
    () => Promise.resolve(['10.1.2.3', '192.0.2.1', '100.64.0.1']),
  )
  await allowed.start()
  allowed.stop()
  expect(allowed.all).toEqual(['192.0.2.9', '192.0.2.1'])
})
