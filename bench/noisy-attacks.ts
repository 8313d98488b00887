import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type ClientRequest, request } from 'node:http'
import type { Writable } from 'node:stream'
import { run } from '../src/lib/process/run.ts'
import { waitFor } from '../test/support/wait-for.ts'
import type { Served } from './served.ts'

/** An attack from a workspace, until it is stopped. */
export interface Noise {
  readonly name: string
  readonly start: () => unknown
  readonly stop: () => unknown
}

/** Server and workspaces that the attacks run in. */
export interface NoisyParts {
  readonly server: Served
  /** Workspace that is a container. */
  readonly name: string
  /** Standard input that controls the machine with the replaced agent. */
  readonly machine: Writable
  readonly ssh: (command: string) => readonly string[]
}

/** Port with a listener that accepts nothing. */
const STUCK_PORT = 3000
const STUCK = `use IO::Socket::INET; $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => ${STUCK_PORT}); sleep`
const REQUEST_EVERY_MS = 10
const FORK_BOMB = 'while (1) { fork }'
/** A container's /dev/shm is a file system of 64 MB. */
const FILL_DISK = 'while :; do head -c 100000000 /dev/zero > /dev/shm/full; done 2>/dev/null'
const CONSOLE = 'exec yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa > /proc/1/fd/1'

/** All attackers of the benchmark. */
export function noises(parts: NoisyParts): readonly Noise[] {
  const { server, name, machine, ssh } = parts
  const container = `ws-${name}`
  /** Restarts the container, which ends every program in it: one full of processes cannot run another. */
  const restart = async (): Promise<void> => {
    // Thousands of processes take longer to exit than the engine waits.
    await run('docker', ['kill', container])
    const isStopped = async (): Promise<boolean> => {
      const { workspaces } = (await (await fetch(`${server.url}/api/workspaces`)).json()) as {
        workspaces: readonly { name: string; status: string }[]
      }
      return workspaces.some((each) => each.name === name && each.status !== 'running')
    }
    await waitFor('the end of the container', isStopped, 60_000)
    await server.post(`/api/workspaces/${name}/start`)
  }
  const inside = (...argv: readonly string[]) =>
    execFileSync('docker', ['exec', '--detach', container, ...argv])
  return [
    fullQueues(server, name, () => inside('perl', '-e', STUCK), restart),
    controlled(machine, 'tiny frames of a replaced agent', 'frames'),
    controlled(machine, 'channels opened and reset by a replaced agent', 'channels'),
    { name: 'fork bomb', start: () => inside('perl', '-e', FORK_BOMB), stop: restart },
    { name: 'full disk', start: () => inside('sh', '-c', FILL_DISK), stop: restart },
    endlessLine(ssh('head -c 1000000000 /dev/zero')),
    { name: 'console flood', start: () => inside('sh', '-c', CONSOLE), stop: restart },
  ]
}

function fullQueues(
  server: Served,
  name: string,
  listen: () => unknown,
  restart: () => Promise<void>,
): Noise {
  const asked = new Set<ClientRequest>()
  let timer: NodeJS.Timeout | undefined
  const url = `${server.url}/api/workspaces/${name}/proxy/${STUCK_PORT}/`
  return {
    name: 'full listen queues',
    start() {
      listen()
      timer = setInterval(() => {
        const one = request(url, { agent: false }).on('error', () => undefined)
        asked.add(one.on('response', (response) => response.resume()).end())
      }, REQUEST_EVERY_MS)
    },
    async stop() {
      clearInterval(timer)
      for (const one of asked) one.destroy()
      asked.clear()
      await restart()
    },
  }
}

function controlled(machine: Writable, name: string, flood: string): Noise {
  return {
    name,
    start: () => void machine.write(`${flood}\n`),
    stop: () => void machine.write('quiet\n'),
  }
}

/** Reads lines of a gigabyte as fast as possible. */
function endlessLine(argv: readonly string[]): Noise {
  let end: (() => Promise<unknown>) | undefined
  return {
    name: '1 GB line through SSH',
    start() {
      const child = spawn('sh', ['-c', 'while :; do "$@"; done', 'sh', ...argv], {
        stdio: 'ignore',
        detached: true,
      })
      const ended = once(child, 'exit')
      end = () => {
        process.kill(-(child.pid ?? 0), 'SIGKILL')
        return ended
      }
    },
    stop: () => end?.(),
  }
}
