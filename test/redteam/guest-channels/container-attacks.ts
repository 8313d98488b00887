import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { run } from '../../../src/lib/process/run.ts'
import { waitFor } from '../../support/wait-for.ts'
import type { ChannelAttack, ChannelParts } from './parts.ts'

const MOST_PROCESSES = 4_096
const MOST_LOG_BYTES = 20 * 2 ** 20
const MOST_CONSOLE_BYTES = 17 * 2 ** 20
const DISK_SLACK_BYTES = 2 ** 30

async function docker(...argv: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run('docker', argv)
  if (status !== 0) throw new Error(`docker ${argv.join(' ')}: ${stderr}`)
  return stdout.trim()
}

/** Starts a program in the attacker's container. */
async function inside({ noisy }: ChannelParts, ...argv: readonly string[]): Promise<void> {
  await docker('exec', '--detach', `ws-${noisy}`, ...argv)
}

/** Kills every program of the attacker's container and starts it again. */
async function restart({ noisy, server }: ChannelParts): Promise<void> {
  // Thousands of processes take longer to exit than the engine waits.
  await run('docker', ['kill', `ws-${noisy}`])
  const status = async (): Promise<string> => {
    const answer = await fetch(`${server.url}/api/workspaces/${noisy}`)
    return (
      ((await answer.json()) as { workspace?: { status: string }; status?: string }).workspace?.status ?? ''
    )
  }
  await waitFor('the container to stop', async () => (await status()) !== 'running', 60_000)
  await server.post(`/api/workspaces/${noisy}/start`)
}

async function ask({ server, noisy }: ChannelParts, port: number, mostMs = 8_000, name = noisy) {
  try {
    const signal = AbortSignal.timeout(mostMs)
    const answer = await fetch(`${server.url}/api/workspaces/${name}/proxy/${port}/`, { signal })
    const text = await answer.text()
    return { status: answer.status, text }
  } catch {
    return { status: 0, text: '' }
  }
}

/** Serves a port with a Perl script, in which $c is a client whose request has been read. */
const serving = (port: number, script: string): readonly string[] => [
  'perl',
  '-MIO::Socket::INET',
  '-e',
  `$SIG{PIPE} = sub { exit }; $s = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1", LocalPort => ${port}, ReuseAddr => 1);
while ($c = $s->accept) { while (<$c>) { last if /^\\r?$/ } ${script}; close $c }`,
]

/** A port's response and the acceptable statuses. */
const ANSWERS: readonly (readonly [string, string, string, readonly number[]])[] = [
  [
    'port-101',
    'a port that switches protocols without a request',
    'print $c "HTTP/1.1 101 Switching\\r\\nconnection: upgrade\\r\\nupgrade: x\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\n\\r\\nx"; sleep 1',
    [502],
  ],
  ['port-garbage', 'a port that answers with garbage', 'print $c "\\xff\\x00" x 50000', [502]],
  [
    'port-endless-headers',
    'a port whose headers never end',
    'print $c "HTTP/1.1 200 OK\\r\\n"; while (print $c "x: " . ("y" x 60000) . "\\r\\n") {}',
    [502],
  ],
  [
    'port-early-hints',
    'a port that answers 103 without end',
    'while (print $c "HTTP/1.1 103 E\\r\\n\\r\\n") {}',
    [0, 502],
  ],
  [
    'port-cut',
    'a port that closes in the middle of its headers',
    'print $c "HTTP/1.1 200 OK\\r\\nx: "',
    [502],
  ],
  [
    'port-two-lengths',
    'a port that answers with two lengths',
    'print $c "HTTP/1.1 200 OK\\r\\ncontent-length: 1\\r\\ncontent-length: 9\\r\\n\\r\\nx"',
    [502],
  ],
]

const PROGRAMS = {
  forkBomb: 'while (1) { fork }',
  fillDisk: 'while :; do head -c 100000000 /dev/zero > /dev/shm/full; done 2>/dev/null',
  console: 'exec yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa > /proc/1/fd/1',
  stuck:
    'use IO::Socket::INET; $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => 3000); sleep',
} as const

function sshTo({ ssh, noisy }: ChannelParts, command: string, stdout: 'ignore' | 'pipe'): ChildProcess {
  return spawn('ssh', [...ssh.argv(noisy), command], { stdio: ['ignore', stdout, 'ignore'] })
}

/** Everything that root in a container can do to its neighbors. */
export const CONTAINER_ATTACKS: readonly ChannelAttack[] = [
  ...ANSWERS.map(([id, tries, script, right], i): ChannelAttack => ({
    id: `container/${id}`,
    tries,
    async play(parts) {
      await inside(parts, ...serving(5_000 + i, script))
      await delay(500)
      const { status } = await ask(parts, 5_000 + i)
      return right.includes(status) ? [] : [`the client got ${status}`]
    },
  })),
  {
    id: 'container/full-queues',
    tries: 'a port that accepts nothing, asked for 600 times',
    async play(parts) {
      await inside(parts, 'perl', '-e', PROGRAMS.stuck)
      await delay(500)
      const asked = Promise.all(Array.from({ length: 600 }, () => ask(parts, 3_000, 7_000)))
      await delay(1_000)
      // While the attackers are all still waiting, as would be everyone queued behind them.
      const others = await Promise.all([1, 2, 3].map(() => ask(parts, 8_000, 5_000, parts.quiet)))
      await asked
      await restart(parts)
      return others.every(({ status }) => status === 200) ? [] : ['the other workspace waits behind them']
    },
  },
  {
    id: 'container/dial-itself',
    tries: 'connections that could end at themselves',
    async play(parts) {
      const range = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split('\t').map(Number)
      const [low = 32_768] = range
      const reached: number[] = []
      for (let port = low; port < low + 100; port++) {
        const { status, text } = await ask(parts, port)
        if (status !== 502 || text.includes('GET /')) reached.push(port)
      }
      return reached.length > 0 ? [`ports ${reached.join()} answered`] : []
    },
  },
  {
    id: 'container/fork-bomb',
    tries: 'a fork bomb',
    async play(parts) {
      const id = await docker('inspect', '--format', '{{.Id}}', `ws-${parts.noisy}`)
      const bomb = docker('exec', `ws-${parts.noisy}`, 'perl', '-e', PROGRAMS.forkBomb).catch(() => '')
      let most = 0
      for (let i = 0; i < 20; i++) {
        await delay(200)
        most = Math.max(most, processesOf(id))
      }
      await restart(parts)
      await bomb
      return most > MOST_PROCESSES ? [`${most} processes`] : []
    },
  },
  {
    id: 'container/disk-full',
    tries: 'a file system that is filled again and again',
    async play(parts) {
      const before = statfsSync('/')
      await inside(parts, 'sh', '-c', PROGRAMS.fillDisk)
      await delay(4_000)
      const after = statfsSync('/')
      await restart(parts)
      const lost = (before.bavail - after.bavail) * before.bsize
      return lost > DISK_SLACK_BYTES ? [`${lost} bytes of the host`] : []
    },
  },
  {
    id: 'container/console-flood',
    tries: 'a console that is printed to without end',
    async play(parts) {
      const path = await docker('inspect', '--format', '{{.LogPath}}', `ws-${parts.noisy}`)
      await inside(parts, 'sh', '-c', PROGRAMS.console)
      await delay(5_000)
      await restart(parts)
      const bytes = existsSync(path)
        ? readdirSync(dirname(path))
            .filter((name) => name.includes('-json.log'))
            .reduce((sum, name) => sum + statSync(join(dirname(path), name)).size, 0)
        : 0
      return bytes > MOST_LOG_BYTES ? [`a log of ${bytes} bytes`] : []
    },
  },
  {
    id: 'container/line-of-1-gb',
    tries: 'a line of a gigabyte through SSH',
    async play(parts) {
      const client = sshTo(parts, 'head -c 1000000000 /dev/zero', 'ignore')
      const late = setTimeout(() => client.kill('SIGKILL'), 30_000)
      await once(client, 'exit')
      clearTimeout(late)
      return []
    },
  },
  {
    id: 'container/line-unread',
    tries: 'a line of a gigabyte through SSH that its client does not read',
    async play(parts) {
      const client = sshTo(parts, 'head -c 1000000000 /dev/zero', 'pipe')
      client.stdout?.pause()
      await delay(4_000)
      client.kill('SIGKILL')
      return []
    },
  },
  {
    id: 'machine/console-flood',
    tries: 'a machine whose console prints 200 MB',
    async play({ machine }) {
      const line = Buffer.alloc(2 ** 20, 'a')
      for (let i = 0; i < 200; i++) appendFileSync(machine.consoleLog, line)
      await delay(500)
      const isBounded = (): boolean => statSync(machine.consoleLog).size <= MOST_CONSOLE_BYTES
      try {
        // Logs are checked every ten seconds.
        await waitFor('the log to be truncated', isBounded)
        return []
      } catch {
        return [`a log of ${statSync(machine.consoleLog).size} bytes`]
      }
    },
  },
]

/** Returns the number of processes in a container's control group; 0 if unknown. */
function processesOf(id: string): number {
  const places = [`pids/docker/${id}`, `docker/${id}`, `system.slice/docker-${id}.scope`]
  const file = places.map((place) => `/sys/fs/cgroup/${place}/pids.current`).find((path) => existsSync(path))
  return file === undefined ? 0 : Number(readFileSync(file, 'utf8'))
}
