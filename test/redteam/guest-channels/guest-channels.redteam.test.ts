import { execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll } from 'vitest'
import { memoryOf, processTree } from '../../../bench/process-memory.ts'
import { serve, type Served } from '../../../bench/served.ts'
import { messageOf } from '../../../src/lib/errors/message.ts'
import { DisposalStack } from '../../../src/lib/lifetime/disposal-stack.ts'
import { plantHostileMachine } from '../../support/hostile/hostile-machine.ts'
import { openSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { waitFor } from '../../support/wait-for.ts'
import { testAttacks } from '../attack.ts'
import { AGENT_ATTACKS } from './agent-attacks.ts'
import { BUS_ATTACKS } from './bus-attacks.ts'
import { CONTAINER_ATTACKS } from './container-attacks.ts'
import { MUX_ATTACKS } from './mux-attacks.ts'
import { type ChannelParts, newSession } from './parts.ts'

/** Allowed memory growth of the server's processes during an attack: buffered bytes are bounded, and garbage collection is late. */
const MOST_GROWN_MB = 160
/** Time limit for one request of the other workspace. */
const ANSWER_MS = 15_000
const SERVED = `use IO::Socket::INET; $s = IO::Socket::INET->new(Listen => 99, LocalAddr => "127.0.0.1", LocalPort => 8000);
while ($c = $s->accept) { while (<$c>) { last if /^\\r?$/ } print $c "HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\nconnection: close\\r\\n\\r\\nok"; close $c }`

const CORE = [
  'mux/credit-overflow',
  'line/sessions-asked-for',
  'agent/json-nested',
  'bus/wrong-token',
  'container/port-endless-headers',
  'machine/console-flood',
]

const opened = new DisposalStack()
let parts: ChannelParts
beforeAll(async () => {
  const machine = await plantHostileMachine('hostile')
  opened.defer(() => machine.remove())
  const server = await serve(mkdtempSync(join(tmpdir(), 'redteam-')), {
    ...machine.settings,
    WORKSPACE_DOCKER__NETWORK: 'none',
  })
  opened.defer(() => server.stop().catch(() => undefined))
  const ssh = await openSsh(server)
  opened.defer(() => ssh.remove())
  const [quiet, noisy] = ['quiet', 'noisy'].map((stem) => `${stem}-${process.pid}`) as [string, string]
  for (const name of [quiet, noisy]) {
    await server.post('/api/workspaces', { name })
    opened.defer(() => server.delete(`/api/workspaces/${name}`).catch(() => undefined))
  }
  execFileSync('docker', ['exec', '--detach', `ws-${quiet}`, 'perl', '-e', SERVED])
  await waitFor('the quiet workspace', () => answers(server, quiet))
  parts = { server, machine, quiet, noisy, ssh }
})
afterAll(() => opened.close())

// Every way a guest can talk to the server or load its host while another workspace must be served.
const onLine = [...MUX_ATTACKS, ...AGENT_ATTACKS]
testAttacks(
  'guest-channels',
  [...onLine, ...BUS_ATTACKS, ...CONTAINER_ATTACKS],
  async (attack) => {
    const watch = watchServer(parts.server, parts.quiet)
    const harm = await attack.play(parts).catch((error: unknown) => [`it broke off: ${messageOf(error)}`])
    // The line must be usable again for the agent of the next start.
    if (onLine.includes(attack)) await newSession(parts.machine)
    const { found, seen } = await watch.end()
    return { harm: [...harm, ...found], seen }
  },
  CORE,
)

async function answers({ url }: Served, workspace: string): Promise<boolean> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS)
    const answer = await fetch(`${url}/api/workspaces/${workspace}/proxy/8000/`, { signal })
    return (await answer.text()) === 'ok'
  } catch {
    return false
  }
}

/** Watches a server's memory and requests another workspace's port until stopped, and once afterwards. */
function watchServer(server: Served, quiet: string) {
  const memoryMb = (): number => {
    try {
      return memoryOf(processTree(server.pid)).anonymous / 2 ** 20
    } catch {
      // A process exited between the two reads.
      return 0
    }
  }
  const beforeMb = memoryMb()
  let mostMb = beforeMb
  let answered = 0
  let failed = 0
  const over = new AbortController()
  let lastMb = beforeMb
  const timer = setInterval(() => {
    const nowMb = memoryMb()
    // Between its fork and its exec a child shares the server's memory, which one reading then counts twice.
    mostMb = Math.max(mostMb, Math.min(lastMb, nowMb))
    lastMb = nowMb
  }, 100)
  const ask = async (): Promise<void> => {
    if (await answers(server, quiet)) answered++
    else failed++
  }
  const asking = (async () => {
    while (!over.signal.aborted) {
      await ask()
      await delay(100)
    }
    await ask()
  })()
  return {
    async end() {
      over.abort()
      await asking
      clearInterval(timer)
      const grownMb = Math.round(mostMb - beforeMb)
      const found = [
        ...(failed > 0 ? [`the other workspace did not answer ${failed} times`] : []),
        ...(grownMb > MOST_GROWN_MB ? ['memory'] : []),
      ]
      return { found, seen: `${grownMb} MiB more, the other workspace answered ${answered} times` }
    },
  }
}
