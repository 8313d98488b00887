import { readdirSync, readFileSync } from 'node:fs'
import { removeLeftovers, uniqueName } from '../../engine/docker.ts'
import { openSsh, type OpenSsh, runProgram, type SshResult } from './open-ssh.ts'
import { makeWorkspace, startWorkspaceServer, type TestServer } from '../server/test-server.ts'

/** A server as shipped, with SSH worker processes and one workspace in a real container. */
export interface DockerSsh {
  readonly server: TestServer
  readonly ssh: OpenSsh
  readonly name: string
  /** Runs a command in the workspace and fails unless it exits with 0. */
  readonly inside: (command: string, stdin?: string | Buffer) => Promise<string>
  /**
   * Runs scp, sftp or rsync with this server's options; `{}` in an argument is replaced by `name@127.0.0.1`.
   */
  readonly client: (program: string, argv: readonly string[], stdin?: string) => Promise<SshResult>
  readonly remove: () => Promise<void>
}

/** The workspace uses the host's network, so that test servers on 127.0.0.1 are reachable inside. */
export async function dockerSsh(ssh: Readonly<Record<string, unknown>> = {}): Promise<DockerSsh> {
  const settings = { docker: { network: 'host' }, ssh: { processes: 2, ...ssh } }
  const server = await startWorkspaceServer({ settings })
  const client = await openSsh(server)
  const name = uniqueName('ssh')
  await makeWorkspace(server.url, { name })
  return {
    server,
    ssh: client,
    name,
    async inside(command, stdin) {
      const { status, stdout, stderr } = await client.run(name, command, { stdin: stdin ?? '' })
      if (status !== 0) throw new Error(`${command}: status ${status}: ${stderr}`)
      return stdout.toString()
    },
    client(program, argv, stdin = '') {
      const filled = argv.map((word) => word.replace('{}', `${name}@127.0.0.1`))
      const options = program === 'rsync' ? ['-e', `ssh ${client.options.join(' ')}`] : client.options
      // Without it, sftp shows non-ASCII letters as numbers.
      return runProgram(program, [...options, ...filled], stdin, { LC_ALL: 'C.UTF-8' })
    },
    async remove() {
      await server.api(`workspaces/${name}`, 'DELETE').catch(() => undefined)
      await removeLeftovers(name)
      client.remove()
      await server.stop()
    },
  }
}

/** Returns the ids of the SSH worker processes of a server in this process. */
export function workerProcesses(): readonly number[] {
  return readdirSync('/proc/self/task')
    .flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, 'utf8').trim().split(' '))
    .filter((pid) => pid !== '' && commandLine(pid).includes('ssh-worker'))
    .map(Number)
}

/** Returns the resident memory of a process. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kilobytes) * 1024
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
