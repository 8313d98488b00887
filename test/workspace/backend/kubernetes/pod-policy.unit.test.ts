import { expect, test } from 'vitest'
import { networkPolicyOf } from '../../../../src/workspace/backend/kubernetes/pod-policy.ts'
import type { Egress } from '../../../../src/workspace/network/policy.ts'

const at = { name: 'policy', serverId: 'server-1', selected: 'server' }
const networks = { cluster: ['10.96.0.0/12'], server: ['10.1.2.3'] }
const dns = { ports: expect.anything(), to: [expect.objectContaining({ podSelector: expect.anything() })] }

function egressOf(egress: Egress, isPublicOnly = false) {
  return networkPolicyOf(at, { allowHostPorts: [], egress, isPublicOnly }, networks).spec.egress
}

test('only this server can connect, to the agent', () => {
  const { spec } = networkPolicyOf(at, { allowHostPorts: [], egress: 'open' }, networks)
  expect(spec.policyTypes).toEqual(['Ingress', 'Egress'])
  expect(spec.ingress).toEqual([
    { ports: [{ protocol: 'TCP', port: 1025 }], from: [{ ipBlock: { cidr: '10.1.2.3/32' } }] },
  ])
  expect(spec.podSelector.matchLabels).toEqual({
    'workspace.dev/server': 'server-1',
    'workspace.dev/policy': 'server',
  })
})

test('open excludes the cluster and link-local addresses, internet private networks as well', () => {
  expect(egressOf('open')).toEqual([
    dns,
    { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.0.0/16', '10.96.0.0/12'] } }] },
  ])
  expect(egressOf('internet')[1]).toMatchObject({
    to: [{ ipBlock: { except: expect.arrayContaining(['10.0.0.0/8', '192.168.0.0/16', '169.254.0.0/16']) } }],
  })
})

test('none permits nothing, not even names', () => {
  expect(egressOf('none')).toEqual([])
})

test('a list permits its networks without the cluster’s parts of them', () => {
  expect(egressOf(['10.0.0.0/8', '192.0.2.1'])).toEqual([
    dns,
    {
      to: [
        { ipBlock: { cidr: '10.0.0.0/8', except: ['10.96.0.0/12'] } },
        { ipBlock: { cidr: '192.0.2.1/32' } },
      ],
    },
  ])
})

test('an empty list permits nothing but names', () => {
  expect(egressOf([])).toEqual([dns])
})

test('a host name is refused, because the cluster cannot enforce it', () => {
  expect(() => egressOf(['registry.example'])).toThrow('"registry.example" is a host name')
})
