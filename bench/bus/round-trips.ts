import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Asker, busAsker, natsAsker, roundTrips } from '../bus-load.ts'
import type { Bench } from '../harness.ts'
import { startNats } from '../../test/support/services/nats.ts'
import { memoryOf } from '../process-memory.ts'

const TOKEN = 'what the agents were told'
const MACHINES = 1_000
/** More of them, for the memory of each: a thousand alone find room in what starting took. */
const IDLE = 3_000
const AT_ONCE = 100
const SIZES = [
  { name: '200 B', text: 'x'.repeat(200), count: 5_000 },
  { name: '16 KiB', text: 'x'.repeat(16 * 1024), count: 1_000 },
]
const EVENTS = 20_000
/** So many are on their way at once: a listener that is a megabyte behind is dropped. */
const EVENTS_AT_ONCE = 1_000

const bench: Bench = {
  note:
    `${MACHINES} simulated machines at a Unix socket of the server ask ${AT_ONCE} at a time, and one listener answers with what it was asked; server, ` +
    'machines and listener in a process each. The peer is a nats-server on TCP, with as many connections of its own client for Node, and one responder. ' +
    '"by posts" answers with a POST for each request: what HTTP costs is the limit there. "by lines" is what the SDK does (serveNamespace): answers that are ' +
    'ready together are lines of one request.',

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
          Object.entries(sides).map(([way, askers]) => ({
            name: `${count} round trips of ${name}, ${way}`,
            ours: () => run(askers, text, count),
            peer: () => run(clients, text, count),
            peerName: 'nats-server',
          })),
        ),
        {
          name: `${EVENTS} events of 200 B`,
          ours: () => tellAll(sides['by lines']),
          peer: () => tellAll(clients),
          peerName: 'nats-server',
        },
      ],
      async more() {
        const rows: string[] = []
        for (const { name, text, count } of SIZES)
          for (const [way, askers] of [...Object.entries(sides), ['nats-server', clients] as const]) {
            const tookMs = await run(askers, text, count)
            rows.push(`| ${name}, ${way} | ${at(tookMs, 0.5)} | ${at(tookMs, 0.99)} |`)
          }
        return [
          `Each of ${AT_ONCE} at a time waits:\n`,
          '| case | p50 | p99 |\n| --- | ---: | ---: |',
          ...rows,
          `\nEach of ${MACHINES + IDLE} idle connections takes ${Math.round(perConnection / 1024)} KiB of the server. Lost events: ${lost}.`,
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

/** Events from all, a thousand at a time; an answer of the listener says how many it has seen. */
async function tellAll(askers: readonly Pick<Asker, 'ask' | 'tell'>[]): Promise<void> {
  const [first] = askers
  const text = 'x'.repeat(200)
  const seenBefore = (await first?.ask('')) ?? 0
  for (let sent = 0; sent < EVENTS; sent += EVENTS_AT_ONCE) {
    for (let i = 0; i < EVENTS_AT_ONCE; i++) askers[(sent + i) % askers.length]?.tell(text)
    // Each connection keeps its order: what comes after the events is answered after them.
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
  if (stdout === null) throw new Error('nothing is read of it')
  const [line] = (await once(createInterface({ input: stdout }), 'line')) as [string]
  return line
}

async function startServer() {
  const child = start('bus-server.ts', [TOKEN])
  return { child, ...(JSON.parse(await firstLine(child)) as { url: string; socket: string }) }
}

async function startListener(way: string, url: string): Promise<ChildProcess> {
  const child = start('bus-listener.ts', [way, url])
  await firstLine(child)
  return child
}
