import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { openSsh } from '../../test/support/workspace/ssh/open-ssh.ts'
import { waitFor } from '../../test/support/wait-for.ts'
import { type Bench, median } from '../harness.ts'
import { type Noise, noises } from '../noisy-attacks.ts'
import { serve } from '../served.ts'

const WINDOW_MS = 3_000
/** Time for an attack to take effect, and for its effects to end. */
const SETTLE_MS = 250
/** Port requests and lists per login. */
const REQUESTS = 8
const MOST_RATIO = 2
const SERVED = `use IO::Socket::INET; $s = IO::Socket::INET->new(Listen => 99, LocalAddr => "127.0.0.1", LocalPort => 8000);
while ($c = $s->accept) { while (<$c>) { last if /^\\r?$/ } print $c "HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\nconnection: close\\r\\n\\r\\nok"; close $c }`

const bench: Bench = {
  note: `Three clients of one workspace, a container, while another workspace of the same server attacks: a request to a port through the port proxy, \`ssh WORKSPACE true\` over a new connection, and GET /api/workspaces. Idle and attacked windows of ${WINDOW_MS / 1000} s take turns; figures are medians of the windows’ p50 and p99 in ms, attacked ÷ idle. The clients run at real-time priority where this is root, because they represent other machines; the server and the containers share all processors. The port's server was started over SSH, the attacks by the engine. Target: p99 ≤ ${MOST_RATIO}× idle.`,

  async prepare() {
    const machine = spawn(process.execPath, [join(import.meta.dirname, '../noisy-machine.ts'), 'noisy-vm'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const [line] = (await once(createInterface({ input: machine.stdout }), 'line')) as [string]
    const stateDir = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
    const server = await serve(stateDir, {
      ...(JSON.parse(line) as Record<string, string>),
      WORKSPACE_DOCKER__NETWORK: 'none',
    })
    const ssh = await openSsh(server)
    const [quiet, noisy] = ['quiet', 'noisy'].map((stem) => `${stem}-${process.pid}`) as [string, string]
    for (const name of [quiet, noisy]) await server.post('/api/workspaces', { name })
    const started = await ssh.run(quiet, `perl -e '${SERVED}' < /dev/null > /dev/null 2>&1 &`)
    if (started.status !== 0) throw new Error(`the port's server did not start: ${started.stderr}`)
    const probes: Probes = {
      port: () => get(`${server.url}/api/workspaces/${quiet}/proxy/8000/`),
      list: () => get(`${server.url}/api/workspaces`),
      ssh: async () => {
        const { status, stderr } = await ssh.run(quiet, 'true')
        if (status !== 0) throw new Error(`ssh exited with ${status}: ${stderr}`)
      },
    }
    const answers = () =>
      probes.port().then(
        () => true,
        () => false,
      )
    await waitFor('the port', answers)
    schedule('--fifo', '1')
    const all = noises({
      server,
      name: noisy,
      machine: machine.stdin,
      ssh: (command) => ['chrt', '--other', '0', 'ssh', ...ssh.argv(noisy), command],
    })
    return {
      cases: [],
      more: (runs) => comparison(all, probes, runs),
      async cleanUp() {
        schedule('--other', '0')
        for (const name of [quiet, noisy]) await server.delete(`/api/workspaces/${name}`)
        await server.stop()
        machine.stdin.end()
        ssh.remove()
      },
    }
  },
}
export default bench

/** Sets the scheduling policy of all threads of this process, which its children inherit. Source: chrt(1). */
function schedule(policy: '--fifo' | '--other', priority: string): void {
  if (process.getuid?.() === 0)
    execFileSync('chrt', ['--all-tasks', policy, '--pid', priority, String(process.pid)])
}

const KINDS = ['port', 'ssh', 'list'] as const
type Kind = (typeof KINDS)[number]
type Probes = Readonly<Record<Kind, () => Promise<unknown>>>
type Times = Readonly<Record<Kind, number[]>> & { readonly failed: Kind[] }

async function comparison(all: readonly Noise[], probes: Probes, runs: number): Promise<string> {
  await timesOf(probes)
  const rows: string[] = []
  for (const noise of all) {
    const idle: Times[] = []
    const attacked: Times[] = []
    for (let run = 0; run < runs; run++) {
      await delay(SETTLE_MS)
      idle.push(await timesOf(probes))
      try {
        await noise.start()
        await delay(SETTLE_MS)
        attacked.push(await timesOf(probes))
      } finally {
        await noise.stop()
      }
    }
    rows.push(...KINDS.map((kind) => row(noise.name, kind, idle, attacked)))
  }
  return [
    '| attacker | probe | p50 | p99 | p99 ÷ idle | met |',
    '| --- | --- | ---: | ---: | ---: | --- |',
    ...rows,
  ].join('\n')
}

const PROBE_NAMES: Readonly<Record<Kind, string>> = {
  port: 'port request',
  ssh: 'SSH `true`',
  list: 'GET /api/workspaces',
}

function row(noise: string, kind: Kind, idle: readonly Times[], attacked: readonly Times[]): string {
  const at = (windows: readonly Times[], share: number) =>
    median(windows.map((times) => percentile(times[kind], share)))
  const ratio = at(attacked, 0.99) / at(idle, 0.99)
  const both = (share: number) => `${at(attacked, share).toFixed(1)} (idle ${at(idle, share).toFixed(1)})`
  const failed = attacked.flatMap((times) => times.failed.filter((each) => each === kind)).length
  const isMet = ratio <= MOST_RATIO && failed === 0
  const met = `${isMet ? 'yes' : '**no**'}${failed > 0 ? `, ${failed} failed` : ''}`
  return `| ${noise} | ${PROBE_NAMES[kind]} | ${both(0.5)} | ${both(0.99)} | ${ratio.toFixed(2)}× | ${met} |`
}

function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** Times sequential requests of each kind, in one window. */
async function timesOf(probes: Probes): Promise<Times> {
  const times: Times = { port: [], ssh: [], list: [], failed: [] }
  const time = async (kind: Kind): Promise<void> => {
    const startMs = performance.now()
    await probes[kind]().catch(() => times.failed.push(kind))
    times[kind].push(performance.now() - startMs)
  }
  const endMs = performance.now() + WINDOW_MS
  do {
    await time('ssh')
    for (let i = 0; i < REQUESTS; i++) {
      await time('port')
      await time('list')
    }
  } while (performance.now() < endMs)
  return times
}

/** Gets a page over a new connection; rejects unless the status is 200. */
function get(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent: false }, (response) => {
      response.resume().once('end', () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`${url}: ${response.statusCode}`))
      })
      response.once('error', reject)
    })
    asked.on('error', reject).end()
  })
}
