import { localNft, type Nft } from '../../../network/firewall.ts'
import { CHANGE_DEADLINE_MS, type DockerEngine } from '../engine/engine.ts'

/** Runs the image's nft, else the host's; only root has its directory in PATH. `$1` is its standard input. */
const SCRIPT = `PATH=$PATH:/usr/sbin:/sbin; input=$1; shift
command -v nft >/dev/null && { printf %s "$input" | nft "$@"; exit; }
printf %s "$input" | exec chroot /host sh -c 'PATH=$PATH:/usr/sbin:/sbin; exec nft "$@"' sh "$@"`

/**
 * Returns a runner of nft on the engine's machine: this process when it is root there, else a container that
 * shares that machine's network and programs.
 *
 * @param image the helper's image, which must be trusted: the server's own default image
 */
export function nftOf(engine: DockerEngine, image: string): Nft {
  if (process.platform === 'linux' && process.getuid?.() === 0 && engine.isLocal) return localNft
  const run = (argv: readonly string[], script: string) => runInEngine(engine, image, argv, script)
  // The engine of an unprivileged server is usually on the same machine.
  return Object.assign(run, { isLocal: process.platform === 'linux' && engine.isLocal })
}

async function runInEngine(
  engine: DockerEngine,
  image: string,
  argv: readonly string[],
  script: string,
): Promise<void> {
  const container = await engine.call('creating a helper for nft', (abortSignal) =>
    engine.docker.createContainer({
      Image: image,
      Entrypoint: ['/bin/sh', '-c', SCRIPT, 'sh'],
      Cmd: [script, ...argv],
      User: '0',
      Labels: { 'workspace.helper': 'nft' },
      HostConfig: {
        NetworkMode: 'host',
        CapDrop: ['ALL'],
        CapAdd: ['NET_ADMIN', 'SYS_CHROOT'],
        Mounts: [{ Type: 'bind', Source: '/', Target: '/host', ReadOnly: true }],
      },
      abortSignal,
    }),
  )
  try {
    await engine.call('starting nft', (abortSignal) => container.start({ abortSignal }))
    const { StatusCode } = (await engine.call('waiting for nft', () => container.wait(), {
      deadlineMs: CHANGE_DEADLINE_MS,
    })) as { StatusCode: number }
    if (StatusCode === 0) return
    const log = await container.logs({ stdout: true, stderr: true, follow: false })
    throw new Error(`nft on the engine's machine: ${messageIn(log)}`)
  } finally {
    await container.remove({ force: true }).catch(() => undefined)
  }
}

/** Returns the first line of a log, without the eight-byte frame header. */
function messageIn(log: Buffer): string {
  const line = log.subarray(8).toString('utf8').split('\n')[0] ?? ''
  return line.includes('not found') ? 'nft is not installed (Debian, Ubuntu, Fedora: package nftables)' : line
}
