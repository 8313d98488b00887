import { expect, test } from 'vitest'
import { describePolicy, networkPolicy } from '../../../src/workspace/network/policy.ts'

const policy = (egress: string | string[], ports: number[] = []) =>
  networkPolicy({ egress, allowHostPorts: ports })

test.each(['open', 'internet', 'none'])('%s is a mode', (mode) => {
  expect(policy(mode).egress).toBe(mode)
})

test('a list may be one comma-separated text, as in the environment', () => {
  const entries = ['registry.npmjs.org', '10.1.0.0/16', '192.0.2.1']
  expect(policy(entries.join(', ')).egress).toEqual(entries)
  expect(policy(entries).egress).toEqual(entries)
})

test.each([
  'opne!',
  '',
  '10.0.0.0/33',
  '10.0.0/8',
  '999.1.1.1',
  '1.2.3.4.5',
  '::1',
  '-x.example',
  'a..b',
  'x;drop',
  'a b',
  '10.0.0.0/8/8',
  `${'a'.repeat(64)}.example`,
  '*.example.com',
])('%j is refused and named', (entry) => {
  expect(() => policy([entry])).toThrow(/network\.egress: ".*" is not/)
})

test('a list that is too long is refused', () => {
  expect(() => policy(Array.from({ length: 1_001 }, (_, i) => `h${i}.example`))).toThrow('the limit is 1000')
})

test('a policy is described by what it permits', () => {
  expect(describePolicy(policy('open'))).toBe('nothing on this host; everything beyond it')
  expect(describePolicy(policy(['a.example'], [443, 80]))).toBe(
    'ports 80, 443 of this host; beyond it only a.example',
  )
})
