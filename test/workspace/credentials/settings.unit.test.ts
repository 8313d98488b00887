import { expect, test } from 'vitest'
import { loadWorkspaceConfig } from '../../../src/workspace/config.ts'
import { exposureOf } from '../../../src/workspace/assembly/exposure.ts'

const load = (flags: Readonly<Record<string, unknown>>) => loadWorkspaceConfig({}, { flags }).config

test('C1 a workspace’s role is its own entry’s, else the default, regardless of case', () => {
  const { cloud } = load({ cloud: { default_role: 'all', workspaces: { Demo: { role: 'demo' } } } })
  expect(['demo', 'DEMO', 'other', 'constructor', '__proto__'].map(cloud.roleOf)).toEqual([
    'demo',
    'demo',
    'all',
    'all',
    'all',
  ])
  expect(load({}).cloud.roleOf('demo')).toBeUndefined()
})

test.each([
  [{ session_duration: '14m' }, 'session_duration'],
  [{ session_duration: '13h' }, 'session_duration'],
  [{ cache_refresh_before: '1h' }, 'cache_refresh_before'],
  [{ workspaces: { demo: {} } }, 'role'],
  [{ workspaces: { demo: { role: 'a', duration: '1h' } } }, 'duration'],
])('cloud settings %j are refused at startup', (cloud, expected) => {
  expect(() => load({ cloud })).toThrow(expected)
})

const used = { cloud: { default_role: 'all' }, extensions: { enabled: ['cloud-credentials'] } }
test.each([
  ['on loopback', {}, undefined],
  ['on every address', { http: { host: '0.0.0.0' } }, 'http.host can obtain'],
  ['on every address with a token', { http: { host: '0.0.0.0', token_file: '/t' } }, undefined],
  ['with SSH on every address', { ssh: { host: '::' } }, 'ssh.host can obtain'],
  ['with SSH for listed keys', { ssh: { host: '::', authorized_keys: '/k' } }, undefined],
  ['with the ports denied', { http: { host: '::' }, tunnel: { deny_ports: [498, 499] } }, undefined],
])('W8 credentials on a server %s are reported as exposed or not', (_, settings, expected) => {
  const sentence = exposureOf(load({ ...used, ...settings }))
  if (expected === undefined) expect(sentence).toBeUndefined()
  else expect(sentence).toContain(expected)
  expect(exposureOf(load(settings))).toBeUndefined()
})

test.each(['system:health', 'a b', '../x', '-x', 'A', ''])('W11 extension name %j is refused', (name) => {
  expect(() => load({ extensions: { enabled: [name] } })).toThrow('extensions.enabled')
})
