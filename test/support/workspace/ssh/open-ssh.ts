import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { call } from '../server/test-server.ts'

/** Result of a run of OpenSSH's client. */
export interface SshResult {
  /** Exit status of ssh; null when a signal terminated it. */
  readonly status: number | null
  readonly stdout: Buffer
  readonly stderr: string
}

/** OpenSSH's client with its own key and none of this machine's settings, pinned to one server. */
export interface OpenSsh {
  readonly directory: string
  readonly keyFile: string
  readonly knownHosts: string
  /** Options that ssh, scp and sftp all accept, including the port. */
  readonly options: readonly string[]
  /** Everything before the command, for callers that start ssh themselves. */
  readonly argv: (user: string, ...flags: readonly string[]) => readonly string[]
  readonly run: (
    user: string,
    command: string,
    more?: {
      readonly flags?: readonly string[]
      readonly stdin?: string | Buffer
      readonly environment?: NodeJS.ProcessEnv
    },
  ) => Promise<SshResult>
  readonly remove: () => void
}

/** Generates a key and pins the server's host key, as reported over HTTP. */
export async function openSsh(
  server: { readonly url: string; readonly sshPort: number },
  headers: Readonly<Record<string, string>> = {},
): Promise<OpenSsh> {
  const { body } = await call(`${server.url}/api/ssh-host-key`, 'GET', undefined, headers)
  const directory = mkdtempSync(join(tmpdir(), 'open-ssh-'))
  const keyFile = makeKey(directory, 'ed25519')
  const knownHosts = join(directory, 'known_hosts')
  writeFileSync(knownHosts, `[127.0.0.1]:${server.sshPort} ${body.host_key}\n`)
  const options = [
    `UserKnownHostsFile=${knownHosts}`,
    'GlobalKnownHostsFile=/dev/null',
    'StrictHostKeyChecking=yes',
    'IdentitiesOnly=yes',
    'BatchMode=yes',
    'LogLevel=ERROR',
    `Port=${server.sshPort}`,
  ]
  const flagged = [...options.flatMap((option) => ['-o', option]), '-i', keyFile]
  const argv: OpenSsh['argv'] = (user, ...flags) => [
    '-F',
    '/dev/null',
    // The first value of an option takes precedence.
    ...flags,
    ...flagged,
    '-l',
    user,
    '127.0.0.1',
  ]
  return {
    directory,
    keyFile,
    knownHosts,
    options: ['-F', '/dev/null', ...flagged],
    argv,
    run: (user, command, { flags = [], stdin = '', environment = {} } = {}) =>
      runProgram('ssh', [...argv(user, ...flags), command], stdin, environment),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** Generates a key pair and returns the private file's path. */
export function makeKey(directory: string, type: string, name = `id_${type}`): string {
  const file = join(directory, name)
  const size = type === 'rsa' ? ['-b', '2048'] : []
  execFileSync('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-C', 'test', '-f', file])
  return file
}

/** Returns a key's fingerprint like `ssh-keygen -l`. */
export function fingerprint(file: string): string {
  return execFileSync('ssh-keygen', ['-l', '-f', file], { encoding: 'utf8' }).split(' ')[1] ?? ''
}

/** Returns the line of a public key file. */
export function publicKey(file: string): string {
  return readFileSync(`${file}.pub`, 'utf8').trim()
}

/** Runs a program with the given input and collects its output. */
export async function runProgram(
  program: string,
  argv: readonly string[],
  stdin: string | Buffer = '',
  environment: NodeJS.ProcessEnv = {},
): Promise<SshResult> {
  const child = spawn(program, argv, {
    env: { PATH: process.env['PATH'], HOME: tmpdir(), ...environment },
    stdio: 'pipe',
  })
  const status = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(stdin)
  const [stdout, stderr] = await Promise.all([buffer(child.stdout), buffer(child.stderr)])
  return { status: await status, stdout, stderr: stderr.toString() }
}
