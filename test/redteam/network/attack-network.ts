import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { text } from 'node:stream/consumers'
import type { Outcome } from '../attack.ts'
import { connections, rawSockets } from './connections.ts'
import { frames } from './frames.ts'
import { ADDRESSES } from './namespaces.ts'
import { ethernet, ipv4, udp } from './packets.ts'
import { type Guest, type NetworkParts, OPEN_PORT, PORT, type Surroundings, type Try } from './parts.ts'
import { echoes, TRACES } from './traces.ts'

const probe = readFileSync(join(import.meta.dirname, 'guest/probe.pl'), 'utf8')
const canary = readFileSync(join(import.meta.dirname, 'guest/canary.pl'), 'utf8')
/** Time limit for the last packet to reach its canary. */
const SETTLE_MS = 1_000

export async function runInside(
  guest: Pick<Guest, 'backend' | 'name'>,
  argv: readonly string[],
  input = '',
): Promise<string> {
  const program = await guest.backend.exec(guest.name, { argv, user: '0' })
  program.stdin.on('error', () => undefined)
  program.stdin.end(input)
  const [out, error] = await Promise.all([text(program.stdout), text(program.stderr)])
  const { status } = await program.exitStatus
  if (status !== 0)
    throw new Error(
      `${argv.slice(0, 2).join(' ')} in ${guest.name} ended with ${status}: ${error.slice(0, 500)}`,
    )
  return out
}

/** Starts a canary inside a workspace; returns a function that reads its hits. */
export async function startNeighborCanary(
  guest: Pick<Guest, 'backend' | 'name'>,
): Promise<() => Promise<string>> {
  const program = await guest.backend.exec(guest.name, {
    argv: ['perl', '-e', canary, String(PORT), '/tmp/hits'],
    user: '0',
    stdin: false,
  })
  await new Promise((resolve) => program.stdout.once('data', resolve))
  return () => runInside(guest, ['cat', '/tmp/hits'])
}

/** Returns the lines that a guest's tool plays. Their ids are the same wherever guest and host are. */
export function triesFrom(parts: Surroundings): readonly Try[] {
  return [...connections(parts), ...(parts.guest.kind === 'container' ? rawSockets(parts) : frames(parts))]
}

/**
 * Runs all network attacks from one guest concurrently; returns their outcomes by id. Rejects if the guest cannot even
 * reach what it may reach.
 */
export async function attackNetwork(parts: NetworkParts): Promise<ReadonlyMap<string, Outcome>> {
  const { guest, neighbors, hits } = parts
  const prefix = `${guest.kind}/`
  const controls = [
    { id: `${prefix}control-tcp`, line: `tcp ${prefix}control-tcp ${ADDRESSES.internet} ${PORT}` },
    { id: `${prefix}control-open`, line: `tcp ${prefix}control-open ${guest.gateway} ${OPEN_PORT}` },
  ]
  if (guest.kind !== 'container') {
    // Like the others, but with nothing forged.
    const id = `${prefix}control-frame`
    const packet = ipv4({ source: guest.address, destination: ADDRESSES.internet, body: udp(PORT, id) })
    controls.push({
      id,
      line: `frame ${id} ${ethernet(guest.mac, 0x0800, packet, guest.gatewayMac).toString('hex')}`,
    })
  }
  const tries = triesFrom(parts)
  const pingsBefore = echoes()
  const lines = [...controls.map(({ line }) => line), ...tries.map(({ line }) => line)]
  const output = await runInside(guest, ['perl', '-e', probe], `${lines.join('\n')}\n`)
  await delay(SETTLE_MS)
  const results = new Map(
    output
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const),
  )
  for (const { id } of controls) {
    if (!hits.some((hit) => hit.id === id))
      throw new Error(
        `the attacker's tool reaches nothing at all: ${id} ${results.get(id) ?? 'was not played'}`,
      )
  }
  const inNeighbors = (await Promise.all(neighbors.map(({ hits: read }) => read()))).join('\n')
  const outcomes = new Map<string, Outcome>()
  for (const { id: key, isReachedBy } of tries) {
    const id = prefix + key
    const seen = results.get(id) ?? 'not played'
    const hit = hits.find((each) => each.id === id)
    const harm = [
      ...(hit === undefined ? [] : [`${hit.canary} heard it`]),
      ...(inNeighbors.includes(id) ? ['a neighbor heard it'] : []),
      ...(seen === 'not played' || isReachedBy?.test(seen) === true ? [seen] : []),
    ]
    outcomes.set(key, { harm, seen })
  }
  if (guest.kind === 'container') return outcomes
  for (const { id, find } of TRACES) {
    const found = find(parts, pingsBefore)
    outcomes.set(id, { harm: found === undefined ? [] : [found], seen: found ?? 'none' })
  }
  return outcomes
}
