import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Firewall } from '../../../src/workspace/network/firewall.ts'
import type { NetworkHost } from '../../../src/workspace/network/network-host.ts'

const BRIDGE = {
  name: 'wsdktest',
  subnet: '10.214.0.0/22',
  gateway: '10.214.0.1',
  ports: [],
  isTranslated: true,
} as const
const CHECK_MS = 10_000
const MISSING = 'nft: Error: No such file or directory'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

/** A host that keeps rules and the state of the bridge, and whose programs can be made to fail. */
function makeHost() {
  const host = {
    /** The rules in force; undefined for none. */
    rules: undefined as string | undefined,
    isUp: true,
    /** Errors by the first words of a command. */
    failing: {} as Record<string, string | undefined>,
    ran: [] as string[],
    onChanged: () => undefined as void,
  }
  const network: NetworkHost = {
    isLocal: true,
    async run(program, argv, input = '') {
      const command = [program, ...argv].join(' ')
      host.ran.push(command)
      const error = Object.entries(host.failing).find(([start]) => command.startsWith(start))?.[1]
      if (error !== undefined) throw new Error(error)
      if (program === 'ip') host.isUp = argv.at(-1) === 'up'
      else if (argv[0] === 'list' && host.rules === undefined) throw new Error(MISSING)
      else if (argv[0] === '-f') host.rules = input.includes('chain forward') ? input : undefined
      return argv[0] === 'list' ? (host.rules ?? '') : ''
    },
    onRulesChanged(_table, listener) {
      host.onChanged = listener
      return () => (host.onChanged = () => undefined)
    },
  }
  const outcomes: (string | undefined)[] = []
  const firewall = new Firewall({
    table: 'workspace_test',
    policy: { allowHostPorts: [], egress: 'open' },
    onChecked: (error) => outcomes.push((error as Error | undefined)?.message),
    host: network,
  })
  return { host, firewall, outcomes, check: () => vi.advanceTimersByTimeAsync(CHECK_MS) }
}

test('rules that another program removes are in force again as soon as that is known', async () => {
  const { host, firewall, outcomes } = makeHost()
  await firewall.protect(BRIDGE)
  host.rules = undefined
  host.onChanged()
  await vi.waitFor(() => expect(host.rules).toContain('chain forward'))
  expect([host.isUp, new Set(outcomes)]).toEqual([true, new Set([undefined])])
  firewall.close()
})

test('rules that another program changes are replaced', async () => {
  const { host, firewall, check } = makeHost()
  await firewall.protect(BRIDGE)
  const right = host.rules
  host.rules = 'table inet workspace_test { chain forward { } }'
  await check()
  expect(host.rules).toBe(right)
  firewall.close()
})

test('guests without rules are cut off until the rules can be applied', async () => {
  const { host, firewall, outcomes, check } = makeHost()
  host.failing = { 'nft -f': 'nft: it is broken' }
  await firewall.restore(BRIDGE)
  expect(host.isUp).toBe(false)
  expect(outcomes.at(-1)).toBe('nft: it is broken; the network is cut off until they can be applied')
  // A restarted engine takes its bridges up.
  host.isUp = true
  await check()
  expect(host.isUp).toBe(false)
  host.failing = {}
  await check()
  expect([host.isUp, outcomes.at(-1)]).toEqual([true, undefined])
  expect(host.rules).toContain('chain forward')
  firewall.close()
})

test('a bridge that an earlier server left down is up once its rules hold', async () => {
  const { host, firewall } = makeHost()
  host.isUp = false
  await firewall.restore(BRIDGE)
  expect(host.isUp).toBe(true)
  firewall.close()
})

test('rules that a new server cannot replace count as missing', async () => {
  const { host, firewall } = makeHost()
  host.rules = 'the rules of an earlier server, perhaps without any chain'
  host.failing = { 'nft -f': 'nft: it is broken' }
  await firewall.restore(BRIDGE)
  expect(host.isUp).toBe(false)
  firewall.close()
})

test('a bridge that cannot be taken up is reported, and its rules are not applied again', async () => {
  const { host, firewall, outcomes, check } = makeHost()
  host.failing = { ip: 'ip: it is broken' }
  await firewall.protect(BRIDGE)
  const applied = () => host.ran.filter((command) => command.startsWith('nft -f')).length
  const before = applied()
  host.onChanged()
  await check()
  expect([applied(), outcomes.at(-1)]).toEqual([
    before,
    'bridge wsdktest cannot be taken up: ip: it is broken',
  ])
  host.failing = { ip: 'ip: Cannot find device "wsdktest"' }
  await check()
  expect(outcomes.at(-1)).toBeUndefined()
  firewall.close()
})

test('rules that are reported as changed and cannot be read count as missing at once', async () => {
  const { host, firewall } = makeHost()
  await firewall.protect(BRIDGE)
  host.failing = { nft: 'nft: it is broken' }
  host.onChanged()
  await vi.waitFor(() => expect(host.isUp).toBe(false))
  firewall.close()
})

test('changed rules that cannot be replaced count as missing', async () => {
  const { host, firewall, check } = makeHost()
  await firewall.protect(BRIDGE)
  host.rules = 'table inet workspace_test { chain forward { } }'
  host.failing = { 'nft -f': 'nft: it is broken' }
  await check()
  expect(host.isUp).toBe(false)
  firewall.close()
})

test('rules that a new server cannot read count as missing', async () => {
  const { host, firewall } = makeHost()
  host.rules = 'perhaps the rules of an earlier server'
  host.failing = { nft: 'nft: it is broken' }
  await firewall.restore(BRIDGE)
  expect(host.isUp).toBe(false)
  firewall.close()
})

test('rules in force that cannot be read are assumed to hold, but not for long', async () => {
  const { host, firewall, check } = makeHost()
  await firewall.protect(BRIDGE)
  host.failing = { nft: 'nft: timed out' }
  await check()
  await check()
  expect(host.isUp).toBe(true)
  await check()
  expect(host.isUp).toBe(false)
  host.failing = {}
  await check()
  expect(host.isUp).toBe(true)
  firewall.close()
})

test('guests that cannot be cut off by their bridge are disconnected, or that is reported', async () => {
  const { host } = makeHost()
  const disconnected: string[] = []
  for (const [disconnect, message] of [
    [
      async () => void disconnected.push('all'),
      'nft: broken; the network is cut off until they can be applied',
    ],
    [undefined, 'nft: broken; the network cannot be cut off either (ip: broken): stop its workspaces'],
  ] as const) {
    const errors: unknown[] = []
    const firewall = new Firewall({
      table: 'workspace_test',
      policy: { allowHostPorts: [], egress: 'open' },
      onChecked: (error) => errors.push(error),
      host: {
        isLocal: true,
        run: async (program, argv) => {
          throw new Error(argv[0] === 'list' ? MISSING : `${program}: broken`)
        },
      },
      ...(disconnect && { disconnect }),
    })
    await firewall.restore(BRIDGE)
    expect((errors.at(-1) as Error).message).toBe(message)
    firewall.close()
  }
  expect([new Set(disconnected), host.isUp]).toEqual([new Set(['all']), true])
})
