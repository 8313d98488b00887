import { expect, test } from 'vitest'
import { PortHosts } from '../../../src/workspace/tunnel/port-host.ts'

const hosts = new PortHosts('Ports.Example')

test.each([
  ['3000--demo.localhost:8080', { workspace: 'demo', port: 3000 }],
  ['3000--DEMO.LOCALHOST', { workspace: 'demo', port: 3000 }],
  ['3000--demo.localhost.', { workspace: 'demo', port: 3000 }],
  ['80--a--b.ports.example', { workspace: 'a--b', port: 80 }],
  ['localhost', undefined],
  ['demo.localhost', undefined],
  ['03000--demo.localhost', undefined],
  ['65536--demo.localhost', undefined],
  ['0--demo.localhost', undefined],
  ['3000---x.localhost', undefined],
  ['3000--demo.x.localhost', undefined],
  ['3000--demo.evil.example', undefined],
  ['3000--demo.localhost.evil', undefined],
  ['', undefined],
])('%s denotes %j', (host, target) => {
  expect(hosts.parse(host)).toEqual(target)
})

test.each([
  ['localhost:8080', '3000--demo.localhost:8080'],
  ['127.0.0.1', '3000--demo.localhost'],
  ['[::1]:99', '3000--demo.localhost:99'],
  ['x.localhost', '3000--demo.localhost'],
  ['server.example:8080', '3000--demo.ports.example:8080'],
])('a client at %s gets %s', (host, own) => {
  expect(hosts.hostFor({ workspace: 'Demo', port: 3000 }, host)).toBe(own)
})

test('a remote client gets no host without a domain, and nobody gets one that is too long', () => {
  expect(
    new PortHosts(undefined).hostFor({ workspace: 'demo', port: 3000 }, 'server.example'),
  ).toBeUndefined()
  const workspace = 'x'.repeat(58)
  expect(hosts.hostFor({ workspace, port: 3000 }, 'localhost')).toBeUndefined()
})
