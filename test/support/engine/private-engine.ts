import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, closeSync, existsSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { run } from '../../../src/lib/process/run.ts'
import { waitFor } from '../wait-for.ts'

const START_MS = 60_000

/** A test's own Docker engine, which may be stopped, killed and frozen; Debian's dockerd, run as root. */
export interface PrivateEngine {
  readonly address: string
  readonly start: () => Promise<void>
  /** Signals only the engine; SIGTERM and SIGKILL wait for its exit. */
  readonly signal: (name: NodeJS.Signals) => Promise<void>
  readonly docker: (...argv: readonly string[]) => Promise<string>
  /** Copies an image from the machine's own engine, which the setup has loaded. */
  readonly copyImage: (name: string) => Promise<void>
  /** Stops the engine and everything it started. */
  readonly remove: () => Promise<void>
}

/** Whether this machine can run one. */
export function canRunEngine(): boolean {
  return process.getuid?.() === 0 && existsSync('/usr/sbin/dockerd')
}

/**
 * Prepares an engine below a directory. It gets its own network namespace: without a bridge it would delete
 * the bridge of the machine's own engine.
 *
 * @param hasUserNamespace whether root inside is mapped to another user outside
 */
export function privateEngine(directory: string, hasUserNamespace = false): PrivateEngine {
  const address = `unix://${join(directory, 'docker.sock')}`
  const log = openSync(join(directory, 'dockerd.log'), 'a')
  const containerdPid = join(directory, 'exec-root', 'containerd', 'containerd.pid')
  let daemon: ChildProcess | undefined
  const docker = async (...argv: readonly string[]): Promise<string> => {
    const { status, stdout, stderr } = await run('docker', ['-H', address, ...argv])
    if (status !== 0) throw new Error(`docker ${argv.join(' ')}: ${stderr}`)
    return stdout.trim()
  }
  const options = [
    '--bridge=none',
    '--iptables=false',
    '--ip-forward=false',
    '--ip-masq=false',
    '--storage-driver=overlay2',
  ]
  const paths = ['data-root', 'exec-root', 'pidfile'].map((name) => `--${name}=${join(directory, name)}`)
  return {
    address,
    docker,
    async start() {
      // Left behind by a killed engine, whose containerd died with it and may still be a zombie: the engine
      // would wait for it.
      rmSync(containerdPid, { force: true })
      const remap = hasUserNamespace ? remapped(directory) : []
      const own = hasUserNamespace ? ['--userns-remap=daemon:daemon'] : []
      const argv = ['--net', ...remap, 'dockerd', '--host', address, ...options, ...own, ...paths]
      daemon = spawn('unshare', argv, { stdio: ['ignore', log, log] })
      await waitFor(
        'the private engine',
        () =>
          docker('version').then(
            () => true,
            () => false,
          ),
        START_MS,
      )
    },
    async signal(name) {
      // unshare becomes dockerd, so the child is the engine itself.
      const ended = new Promise((resolve) => daemon?.once('exit', resolve))
      daemon?.kill(name)
      if (name === 'SIGTERM' || name === 'SIGKILL') await ended
    },
    async copyImage(name) {
      const save = spawn('docker', ['save', name], { stdio: ['ignore', 'pipe', 'inherit'] })
      const load = spawn('docker', ['-H', address, 'load', '-q'], { stdio: ['pipe', 'ignore', 'inherit'] })
      const loaded = once(load, 'exit')
      await pipeline(save.stdout, load.stdin)
      const [status] = (await loaded) as [number | null]
      if (status !== 0) throw new Error(`docker load: ${status}`)
    },
    async remove() {
      if (daemon?.exitCode === null && daemon.signalCode === null) {
        daemon.kill('SIGCONT')
        await this.signal('SIGTERM')
      }
      closeSync(log)
      for (const path of await mountsBelow(directory)) await run('umount', ['-l', path])
    },
  }
}

/**
 * Returns the arguments of `unshare` that run a command where the system's lists assign subordinate ids to
 * `daemon`. The machine's own lists are unchanged.
 */
function remapped(directory: string): readonly string[] {
  const list = join(directory, 'subordinates')
  // The user that root is mapped to must be able to reach the directory.
  chmodSync(directory, 0o711)
  writeFileSync(list, 'daemon:300000:65536\n')
  const script = `touch /etc/subuid /etc/subgid; mount --bind ${list} /etc/subuid; mount --bind ${list} /etc/subgid; exec "$@"`
  return ['--mount', 'sh', '-c', script, 'sh']
}

/** Returns the mount points, deepest first. */
async function mountsBelow(directory: string): Promise<readonly string[]> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8'))
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
  return mounts.filter((path) => path.startsWith(`${directory}/`)).toReversed()
}
