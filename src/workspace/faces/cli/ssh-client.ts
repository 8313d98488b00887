import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { constants, homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import { makeDirs } from '../../../lib/fs/make-dirs.ts'
import { ExitStatus } from '../../../lib/cli/run.ts'
import { userConfigDir } from '../../../lib/config/find-file.ts'
import { defineFaults } from '../../../lib/errors/fault.ts'
import { writeFileDurable } from '../../../lib/fs/write-durable.ts'
import { run } from '../../../lib/process/run.ts'
import { shellQuote } from '../../../lib/process/shell-quote.ts'
import type { WireWorkspace } from '../../api/workspace.ts'
import type { WorkspaceClient } from '../../client/client.ts'
import type { CliContext } from './context.ts'
import { type ServerAddress, socketPathOf } from '../../client/server-address.ts'

const sshFault = defineFaults({ SSH_CLIENT_MISSING: 'unavailable', SSH_KEY_FAILED: 'internal' })

/** Host name in the known-hosts file, independent of the server's address. */
const ALIAS = 'workspace'
const KEY_NAMES = ['id_ed25519', 'id_rsa', 'id_ecdsa', 'id_ed25519_sk', 'id_ecdsa_sk']

/** Options of `sshInto`. */
export interface SshOptions {
  /** Options for ssh, placed before ours. */
  readonly options?: readonly string[]
  /** Whether to forward the ports listed in the workspace's devcontainer.json. */
  readonly forwards?: boolean
}

/**
 * Connects to a workspace with OpenSSH's client, pinning the host key that the API reports, and exits with its status.
 *
 * @param remoteCommand empty for a shell
 */
export async function sshInto(
  context: CliContext,
  name: string,
  remoteCommand: readonly string[],
  options: SshOptions = {},
): Promise<never> {
  throw new ExitStatus(await runInside(context, name, remoteCommand, options))
}

/** Like `sshInto`, but returns the status. */
export async function runInside(
  context: CliContext,
  name: string,
  remoteCommand: readonly string[],
  { options: ownOptions = [], forwards = false }: SshOptions = {},
): Promise<number> {
  const [target, forwardOptions] = await Promise.all([
    findSshTarget(context),
    forwards ? optionsForPorts(context.client, name) : [],
  ])
  const options = [...ownOptions, ...forwardOptions]
  return runSsh([...options, ...argumentsFor(target, name), ...remoteCommand])
}

/**
 * Starts a shell script in a workspace with piped input and output, through OpenSSH's client with the host key pinned. The
 * client's own messages and the script's are on `stderr`.
 */
export async function startScript(
  context: CliContext,
  name: string,
  script: string,
  argv: readonly string[],
): Promise<ChildProcessWithoutNullStreams> {
  const command = ['exec', '/bin/sh', '-c', ...[script, 'sh', ...argv].map(shellQuote)].join(' ')
  const child = spawn('ssh', ['-T', ...argumentsFor(await findSshTarget(context), name), command])
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve).once('error', (error) => reject(missingClient(error)))
  })
  return child
}

/** Address of a server's SSH interface, with the client's options that identify both sides. */
export interface SshTarget {
  readonly host: string
  readonly port: number
  /** Pairs of an option's name and value. */
  readonly options: readonly (readonly [string, string])[]
}

/** Returns how to connect to a server's SSH interface. Pins its host key, and creates a user key if there is none. */
export async function findSshTarget({ client, server }: CliContext): Promise<SshTarget> {
  const [info, { host_key: hostKey }] = await Promise.all([
    client.get<{ ssh_port: number }>('/api/info'),
    client.get<{ host_key: string }>('/api/ssh-host-key'),
  ])
  return {
    host: server.ssh?.host ?? hostOf(server),
    port: server.ssh?.port ?? info.ssh_port,
    options: await identityOptions(hostKey),
  }
}

function argumentsFor({ host, port, options }: SshTarget, name: string): readonly string[] {
  return [
    ...options.flatMap(([key, value]) => ['-o', `${key}=${value}`]),
    '-p',
    String(port),
    '-l',
    name,
    '--',
    host,
  ]
}

/** Returns the host of a server's API. */
export function hostOf(server: ServerAddress): string {
  if (socketPathOf(server) !== undefined) return '127.0.0.1'
  return new URL(server.url).hostname.replace(/^\[|\]$/g, '')
}

/** Returns ssh options that forward the workspace's ports, except those already in use here, usually by another shell's forward. */
async function optionsForPorts(client: WorkspaceClient, name: string): Promise<readonly string[]> {
  const { forward_ports: ports = [] } = await client.get<WireWorkspace>(
    `/api/workspaces/${encodeURIComponent(name)}`,
  )
  const areFree = await Promise.all(ports.map(isFree))
  return ports.filter((_port, index) => areFree[index]).flatMap((port) => ['-L', `${port}:localhost:${port}`])
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen(port, '127.0.0.1', resolve)
    })
    return true
  } catch {
    return false
  } finally {
    probe.close()
  }
}

async function runSsh(argv: readonly string[]): Promise<number> {
  const child = spawn('ssh', argv, { stdio: 'inherit' })
  // Signals from the terminal also reach ssh, which handles them.
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) process.on(signal, () => undefined)
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(missingClient(error)))
    child.on('exit', (status, signal) => resolve(status ?? 128 + constants.signals[signal ?? 'SIGTERM']))
  })
}

function missingClient(error: Error): Error {
  return sshFault('SSH_CLIENT_MISSING', `cannot run OpenSSH's client: ${error.message}; install it`, error)
}

/** Returns ssh options that pin the host key and, for a user without a key, select a generated one. */
async function identityOptions(hostKey: string): Promise<SshTarget['options']> {
  const directory = userConfigDir('workspace', process.env)
  const options: (readonly [string, string])[] = [
    ['UserKnownHostsFile', await pin(hostKey, directory)],
    ['HostKeyAlias', ALIAS],
    ['StrictHostKeyChecking', 'yes'],
    // Do not modify the user's known_hosts.
    ['UpdateHostKeys', 'no'],
  ]
  for (const key of await keys(directory)) options.push(['IdentityFile', key])
  return options
}

/** Writes a known-hosts file for the key. One file per key, so that concurrent clients of two servers do not overwrite each other's. */
async function pin(hostKey: string, configDir: string): Promise<string> {
  const directory = join(configDir, 'known_hosts.d')
  const file = join(directory, createHash('sha256').update(hostKey).digest('hex').slice(0, 32))
  if (existsSync(file)) return file
  makeDirs(directory, 0o700)
  await writeFileDurable(file, `${ALIAS} ${hostKey}\n`, { mode: 0o600 })
  return file
}

/** Returns the keys that ssh does not find itself. It looks in the home of the user's account, not in HOME. */
async function keys(directory: string): Promise<readonly string[]> {
  const folder = join(homedir(), '.ssh')
  const own = KEY_NAMES.map((name) => join(folder, name)).filter((file) => existsSync(file))
  if (own.length === 0 && process.env['SSH_AUTH_SOCK'] === undefined) return [await ourKey(directory)]
  return homedir() === userInfo().homedir ? [] : own
}

async function ourKey(directory: string): Promise<string> {
  const file = join(directory, 'id_ed25519')
  if (existsSync(file)) return file
  const made = await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'workspace', '-f', file])
  if (made.status !== 0)
    throw sshFault('SSH_KEY_FAILED', `ssh-keygen could not create ${file}: ${made.stderr.trim()}`)
  return file
}
