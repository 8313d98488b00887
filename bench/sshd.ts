import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../test/support/services/free-port.ts'

const BASE = 'workspace-base:1'
const IMAGE = 'workspace-bench-sshd:1'

/** OpenSSH's server in a container of our workspaces' image, on the host's network. */
export interface Sshd {
  readonly port: number
  /** User to log in as. */
  readonly user: string
  readonly run: (...argv: readonly string[]) => void
  readonly stop: () => void
}

/** Starts it and authorizes one public key; builds its image first if it is missing. */
export async function startSshd(publicKey: string): Promise<Sshd> {
  if (docker('images', '-q', IMAGE) === '') makeImage()
  const port = await freePort()
  const options = [
    'Port=' + port,
    'ListenAddress=127.0.0.1',
    'AuthorizedKeysFile=/etc/ssh/bench_keys',
    'MaxStartups=1000',
  ]
  const script = `echo '${publicKey}' >/etc/ssh/bench_keys; exec /usr/sbin/sshd -D -e ${options.map((option) => `-o ${option}`).join(' ')}`
  const id = docker(
    'run',
    '-d',
    '--rm',
    '--init',
    '--network',
    'host',
    '--user',
    '0',
    IMAGE,
    'sh',
    '-c',
    script,
  )
  while (!docker('logs', id).includes('listening')) await delay(50)
  return {
    port,
    user: 'workspace',
    run: (...argv) => void docker('exec', '--user', 'workspace', id, ...argv),
    stop: () => void docker('rm', '-f', id),
  }
}

function makeImage(): void {
  // Without PAM, the server treats accounts without a password as locked.
  const script =
    'apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends openssh-server && ' +
    "usermod -p '*' workspace && mkdir -p /run/sshd"
  const id = docker('run', '-d', '--network', 'host', '--user', '0', BASE, 'sh', '-c', script)
  try {
    if (docker('wait', id) !== '0')
      throw new Error(`openssh-server cannot be installed: ${docker('logs', id)}`)
    docker('commit', id, IMAGE)
  } finally {
    docker('rm', '-f', id)
  }
}

function docker(...argv: readonly string[]): string {
  // Includes standard error, where sshd reports that it is listening.
  return execFileSync('sh', ['-c', 'exec docker "$@" 2>&1', 'sh', ...argv], { encoding: 'utf8' }).trim()
}
