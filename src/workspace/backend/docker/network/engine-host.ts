import {
  type NetworkHost,
  type NetworkProgram,
  notInstalled,
  thisHost,
} from '../../../network/network-host.ts'
import { FrameParser } from '../engine/demux.ts'
import { CHANGE_DEADLINE_MS, type DockerEngine } from '../engine/engine.ts'
import type { Labels } from '../engine/labels.ts'

/** Runs work that uses a helper with these labels. */
export type WithHelper = <T>(work: (labels: Labels) => Promise<T>) => Promise<T>

/** Runs the image's program, else the host's; only root has its directory in PATH. `$1` is the program, `$2` its standard input. */
const SCRIPT = `PATH=$PATH:/usr/sbin:/sbin; program=$1; input=$2; shift 2
command -v "$program" >/dev/null && { printf %s "$input" | "$program" "$@"; exit; }
printf %s "$input" | exec chroot /host sh -c 'PATH=$PATH:/usr/sbin:/sbin; exec "$@"' sh "$program" "$@"`

/**
 * Returns the engine's machine as a host of guests: this process changes its network when it is root there, else a container
 * that shares that machine's network and programs.
 *
 * @param image the helper's image, which must be trusted: the server's own default image
 * @param withHelper labels the helper, so that one that a killed server leaves is removed
 */
export function hostOf(engine: DockerEngine, image: string, withHelper: WithHelper): NetworkHost {
  if (isThisHost(engine)) return thisHost
  return {
    // The engine of an unprivileged server is usually on the same machine.
    isLocal: process.platform === 'linux' && engine.isLocal,
    run: (program, argv, input = '') =>
      withHelper((labels) => runInEngine(engine, { image, labels }, program, argv, input)),
  }
}

/** Whether this process can change the network of the engine's machine, also while the engine does not respond. */
export function isThisHost(engine: DockerEngine): boolean {
  return process.platform === 'linux' && process.getuid?.() === 0 && engine.isLocal
}

async function runInEngine(
  engine: DockerEngine,
  { image, labels }: { readonly image: string; readonly labels: Labels },
  program: NetworkProgram,
  argv: readonly string[],
  input: string,
): Promise<string> {
  const container = await engine.call(`creating a helper for ${program}`, (abortSignal) =>
    engine.docker.createContainer({
      Image: image,
      Entrypoint: ['/bin/sh', '-c', SCRIPT, 'sh'],
      Cmd: [program, input, ...argv],
      User: '0',
      Labels: { ...labels },
      HostConfig: {
        NetworkMode: 'host',
        CapDrop: ['ALL'],
        CapAdd: ['NET_ADMIN', 'SYS_CHROOT'],
        Mounts: [{ Type: 'bind', Source: '/', Target: '/host', ReadOnly: true }],
        LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
      },
      abortSignal,
    }),
  )
  try {
    await engine.call(`starting ${program}`, (abortSignal) => container.start({ abortSignal }))
    const { StatusCode } = (await engine.call(`waiting for ${program}`, () => container.wait(), {
      deadlineMs: CHANGE_DEADLINE_MS,
    })) as { StatusCode: number }
    const log = await container.logs({ stdout: true, stderr: true, follow: false })
    const parts = [...new FrameParser().read(log)]
    const textOf = (isError: boolean): string =>
      Buffer.concat(parts.filter((part) => part.isError === isError).map(({ bytes }) => bytes)).toString()
    if (StatusCode === 0) return textOf(false)
    const message = textOf(true).split('\n')[0] ?? ''
    const why = /\bnot found\b|failed to run command/.test(message) ? notInstalled(program) : message
    throw new Error(`${program} on the engine's machine: ${why}`)
  } finally {
    await container.remove({ force: true, v: true })
  }
}
