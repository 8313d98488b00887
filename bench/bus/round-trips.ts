import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Asker, busAsker, natsAsker, roundTrips } from '../bus-load.ts'
import type { Bench } from '../harness.ts'
import { startNats } from '../../test/support/services/nats.ts'
import { memoryOf } from '../process-memory.ts'

const TOKEN = 'the agents’ token'
const MACHINES = 1_000
/** More connections, to measure the memory of each: a thousand would fit into memory left from the start. */
const IDLE = 3_000
const AT_ONCE = 100
const SIZES = [
  { name: '200 B', text: 'x'.repeat(200), count: 5_000 },
  { name: '16 KiB', text: 'x'.repeat(16 * 1024), count: 1_000 },
]
const EVENTS = 20_000
/** Events in flight: a listener that falls a megabyte behind is disconnected. */
const EVENTS_AT_ONCE = 1_000

const bench: Bench = {
  note:
    `${MACHINES} simulated machines at a Unix socket of the server send requests, ${AT_ONCE} at a time, and one listener returns them; server, ` +
    'machines and listener are separate processes. The peer is a nats-server over TCP, with as many connections of the project’s Node client, and one responder. ' +
    '"by posts" answers each request with a POST, limited by the cost of HTTP. "by lines" is what the SDK uses (serveNamespace): responses that are ' +
    'ready at the same time are lines of one request.',

  async prepare() {
    const server = await startServer()
    const nats = await startNats()
    const listeners = [
      await startListener('post', server.url),
      await startListener('lines', server.url),
      await startListener('nats', nats.url),
    ]
    const before = memoryOf([server.child.pid ?? 0]).rss
    const machines = await inTurn(MACHINES, (index) => busAsker(server.socket, `machine-${index}`, TOKEN))
    const idle = await inTurn(IDLE, (index) => busAsker(server.socket, `idle-${index}`, TOKEN))
    const perConnection = (memoryOf([server.child.pid ?? 0]).rss - before) / (MACHINES + IDLE)
    for (const machine of idle) machine.close()
    const clients = await inTurn(MACHINES, () => natsAsker(nats.url))
    const sides = {
      'by posts': machines.map((machine) => machine.on('post')),
      'by lines': machines.map((machine) => machine.on('lines')),
    }
    const run = (askers: readonly Pick<Asker, 'ask'>[], text: string, count: number) =>
      roundTrips(askers, { count, atOnce: AT_ONCE, text })

    return {
      cases: [
        ...SIZES.flatMap(({ name, text, count }) =>
          Object.entries(sides).map(([transport, askers]) => ({
            name: `${count} round trips of ${name}, ${transport}`,
            ours: () => run(askers, text, count),
            peer: () => run(clients, text, count),
            peerName: 'nats-server',
          })),
        ),
        {
          name: `${EVENTS} events of 200 B`,
          ours: () => notifyAll(sides['by lines']),
          peer: () => notifyAll(clients),
          peerName: 'nats-server',
        },
      ],
      async more() {
        const rows: string[] = []
        for (const { name, text, count } of SIZES)
          for (const [transport, askers] of [...Object.entries(sides), ['nats-server', clients] as const]) {
            const tookMs = await run(askers, text, count)
            rows.push(`| ${name}, ${transport} | ${at(tookMs, 0.5)} | ${at(tookMs, 0.99)} |`)
          }
        return [
          `Latency with ${AT_ONCE} requests at a time:\n`,
          '| case | p50 | p99 |\n| --- | ---: | ---: |',
          ...rows,
          `\nEach of ${MACHINES + IDLE} idle connections uses ${Math.round(perConnection / 1024)} KiB of the server. Lost events: ${lost}.`,
        ].join('\n')
      },
      cleanUp() {
        for (const asker of [...machines, ...clients]) asker.close()
        for (const child of [...listeners, server.child]) child.kill()
        return nats.end()
      },
    }
  },
}
export default bench

let lost = 0

/** Sends events from all, a thousand at a time; the listener's response contains the number received. */
async function notifyAll(askers: readonly Pick<Asker, 'ask' | 'notify'>[]): Promise<void> {
  const [first] = askers
  const text = 'x'.repeat(200)
  const seenBefore = (await first?.ask('')) ?? 0
  for (let sent = 0; sent < EVENTS; sent += EVENTS_AT_ONCE) {
    for (let i = 0; i < EVENTS_AT_ONCE; i++) askers[(sent + i) % askers.length]?.notify(text)
    // Each connection preserves order: this request is answered after the events before it.
    await Promise.all(askers.map((asker) => asker.ask('')))
  }
  lost += EVENTS - (((await first?.ask('')) ?? 0) - seenBefore)
}

function at(sorted: readonly number[], share: number): string {
  return `${(sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1)} ms`
}

async function inTurn<T>(count: number, make: (index: number) => Promise<T>): Promise<readonly T[]> {
  const made: T[] = []
  for (let index = 0; index < count; index++) made.push(await make(index))
  return made
}

function start(program: string, argv: readonly string[]): ChildProcess {
  return spawn(process.execPath, [join(import.meta.dirname, '..', program), ...argv], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error('standard output is not piped')
  const [line] = (await once(createInterface({ input: stdout }), 'line')) as [string]
  return line
}

async function startServer() {
  const child = start('bus-server.ts', [TOKEN])
  return { child, ...(JSON.parse(await firstLine(child)) as { url: string; socket: string }) }
}

async function startListener(transport: string, url: string): Promise<ChildProcess> {
  const child = start('bus-listener.ts', [transport, url])
  await firstLine(child)
  return child
}
