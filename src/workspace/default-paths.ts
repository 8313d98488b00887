import { homedir } from 'node:os'
import { join } from 'node:path'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the default directory of VM sockets, a short path because socket paths are limited (threat W2). */
export function defaultRunDir(environment: Environment): string {
  if (process.getuid?.() === 0 && process.platform === 'linux') return '/run/workspace-vm'
  const runtime = environment['XDG_RUNTIME_DIR']
  return runtime === undefined
    ? `/tmp/workspace-vm-${process.getuid?.() ?? 0}`
    : join(runtime, 'workspace-vm')
}

/** Returns the default state directory. */
export function defaultStateDir(environment: Environment): string {
  if (process.getuid?.() === 0) return '/var/lib/workspace'
  return join(environment['XDG_DATA_HOME'] ?? join(homedir(), '.local', 'share'), 'workspace')
}

/** Returns the URL at which programs on this machine reach a server with these settings. */
export function localUrl({
  host,
  port,
  socket,
  tls,
}: {
  readonly host: string
  readonly port: number
  readonly socket?: string | undefined
  readonly tls?: object | undefined
}): string {
  if (socket !== undefined) return `unix://${socket}`
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `${tls === undefined ? 'http' : 'https'}://${name.includes(':') ? `[${name}]` : name}:${port}`
}
