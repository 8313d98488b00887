import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram } from '../../lib/process/find-program.ts'
import { run } from '../../lib/process/run.ts'

const ALIAS = 'torture'

/** OpenSSH's client with a separate key and none of the user's settings, pinned to one host key. */
export class SshClient {
  readonly #options: readonly string[]

  private constructor(options: readonly string[]) {
    this.#options = options
  }

  /** Generates a key in a directory; returns undefined if OpenSSH is not installed. */
  static async create(directory: string, hostKey: string): Promise<SshClient | undefined> {
    const programs = await Promise.all(['ssh', 'ssh-keygen'].map(findProgram))
    if (programs.includes(undefined)) return undefined
    const key = join(directory, 'id_ed25519')
    const { status } = await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', ALIAS, '-f', key])
    if (status !== 0) return undefined
    const knownHosts = join(directory, 'known_hosts')
    await writeFile(knownHosts, `${ALIAS} ${hostKey}\n`)
    const options = {
      UserKnownHostsFile: knownHosts,
      GlobalKnownHostsFile: '/dev/null',
      HostKeyAlias: ALIAS,
      StrictHostKeyChecking: 'yes',
      IdentitiesOnly: 'yes',
      IdentityFile: key,
      BatchMode: 'yes',
      LogLevel: 'ERROR',
    }
    const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`])
    return new SshClient(['-F', '/dev/null', ...flags])
  }

  /**
   * Runs a command in a workspace with a text on its standard input. Returns its output, or undefined when it or the
   * connection failed.
   */
  async run(
    port: number,
    workspace: string,
    command: string,
    input: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const argv = [...this.#options, '-p', String(port), '-l', workspace, '--', '127.0.0.1', command]
    const { status, stdout } = await run('ssh', argv, { input, signal })
    return status === 0 ? stdout : undefined
  }
}
