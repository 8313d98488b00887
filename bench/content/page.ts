import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ContentServer, startFastify, startNginx, startOurs } from '../content-servers.ts'
import type { Bench } from '../harness.ts'

const BYTES = 10_240
const ROUNDS = 5
const SECONDS = 5
const CONNECTIONS = 64
const PATH = '/repos/guide/page.html'

const bench: Bench = {
  note:
    `A page of 10 kB with a valid session, uncompressed, over ${CONNECTIONS} persistent connections, ${SECONDS} s per round, ${ROUNDS} alternating rounds, medians: ` +
    'each server runs as one process on the first core, wrk on the second. nginx asks a checker for each request (itself, with an immediate response); the ' +
    'bare Fastify route sends a buffer without checks.',
  prepare() {
    const dir = mkdtempSync(join(tmpdir(), 'content-bench-'))
    return { cases: [], more: () => compare(dir), cleanUp: () => rmSync(dir, { recursive: true }) }
  },
}
export default bench

interface Round {
  readonly rate: number
  readonly p99Ms: number
}

async function compare(dir: string): Promise<string> {
  mkdirSync(join(dir, 'store/repos/guide'), { recursive: true })
  writeFileSync(join(dir, 'store', PATH), 'x'.repeat(BYTES))
  const servers = [
    await startOurs(dir, { root: join(dir, 'store') }),
    await startNginx(dir),
    await startFastify(BYTES),
  ]
  const rounds = new Map<ContentServer, Round[]>(servers.map((server) => [server, []]))
  try {
    for (const server of servers) load(server, 2)
    for (let i = 0; i < ROUNDS; i++)
      for (const server of servers) rounds.get(server)?.push(load(server, SECONDS))
  } finally {
    for (const server of servers) await server.stop()
  }
  const ours = rounds.get(servers[0] as ContentServer) ?? []
  const rows = servers.map((server) => {
    const own = rounds.get(server) ?? []
    const ratios = own.map(({ rate }, i) => (ours[i]?.rate ?? Number.NaN) / rate)
    const cells = [
      median(own.map(({ rate }) => rate)).toFixed(0),
      `${median(own.map(({ p99Ms }) => p99Ms)).toFixed(1)} ms`,
      `${median(ratios).toFixed(2)}×`,
    ]
    return `| ${[server.name, ...cells].join(' | ')} |`
  })
  return ['| | requests/s | p99 | ours ÷ this |', '| --- | ---: | ---: | ---: |', ...rows].join('\n')
}

/** Runs one round of wrk; fails if a response is not 200. */
function load({ url, cookie }: ContentServer, seconds: number): Round {
  const argv = [
    '-c',
    '1',
    'wrk',
    '-t',
    '1',
    '-c',
    String(CONNECTIONS),
    '-d',
    `${seconds}s`,
    '--latency',
    '-H',
    `Cookie: ${cookie}`,
    url + PATH,
  ]
  const said = execFileSync('taskset', argv, { encoding: 'utf8' })
  if (/Non-2xx/.test(said)) throw new Error(said)
  const [, number = '', unit = ''] = /99%\s+([\d.]+)(us|ms|s)/.exec(said) ?? []
  return {
    rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(said)?.[1]),
    p99Ms: Number(number) * ({ us: 0.001, ms: 1, s: 1_000 }[unit] ?? Number.NaN),
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
