import { expect, test } from 'vitest'
import { bootRequests } from '../../../../src/workspace/backend/firecracker/requests.ts'
import { apiFaults } from '../../../support/vm/firecracker-api.ts'
import { machine, TAP } from '../../../support/workspace/machine/machine.ts'

const requestsFor = (more: Parameters<typeof machine>[0] = {}) => {
  const made = machine(more)
  const { kernel, initrd, rootfs: lower } = made.image
  return bootRequests(made, { kernel, initrd, lower, upper: made.upper, socketDir: made.socketDir })
}

test.each([
  ['a machine without a network', {}],
  ['one on a tap device', { network: TAP }],
  ['one that was booted before', { commandLine: [] }],
  ['one with an odd number of CPUs', { cpus: 3 }],
])('every request for %s is part of Firecracker’s published API', (_what, more) => {
  for (const { path, body, olderBody = body } of requestsFor(more))
    for (const each of [body, olderBody]) expect(apiFaults('PUT', path, each)).toEqual([])
})

test('the VM is started last, and the image’s drive precedes its own', () => {
  const paths = requestsFor({ network: TAP }).map(({ path }) => path)
  expect(paths.at(-1)).toBe('/actions')
  expect(paths.indexOf('/drives/lower')).toBeLessThan(paths.indexOf('/drives/upper'))
  expect(paths).toContain('/network-interfaces/eth0')
})

test('the image is read-only, and flushed data of the VM’s own drive is on disk', () => {
  const bodies = new Map(requestsFor().map(({ path, body }) => [path, body]))
  expect(bodies.get('/drives/lower')).toMatchObject({ is_read_only: true, is_root_device: false })
  expect(bodies.get('/drives/upper')).toMatchObject({ is_read_only: false, cache_type: 'Writeback' })
})

test.each([
  [1, 1],
  [2, 2],
  [3, 4],
  [40, 32],
])('%i CPUs become %i, because Firecracker accepts one or an even number', (cpus, vcpus) => {
  expect(requestsFor({ cpus })[0]?.body).toMatchObject({ vcpu_count: vcpus })
})

test('the check refuses requests that are not in the API', () => {
  expect(apiFaults('PUT', '/vsock', { guest_cid: 3 })).not.toEqual([])
  expect(apiFaults('PUT', '/vsock', { guest_cid: 3, uds_path: 'v', more: 1 })).not.toEqual([])
  expect(apiFaults('PUT', '/nothing', {})).not.toEqual([])
})

test('memory that a guest frees is returned by versions that support it', () => {
  const balloon = requestsFor().find(({ path }) => path === '/balloon')
  expect(balloon?.body).toMatchObject({ free_page_reporting: true, deflate_on_oom: true })
  expect(balloon?.olderBody).not.toHaveProperty('free_page_reporting')
})
