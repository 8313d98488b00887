import { addAbortSignal, type Duplex } from 'node:stream'
import { openTunnelTo } from '../client/open-tunnel-to.ts'
import { connect } from '../client/sdk/connect.ts'
import type { WorkspaceServer } from '../client/sdk/server.ts'
import { CuttableLink } from './cuttable-link.ts'
import type { PrivateServer } from './private-server.ts'
import { SshClient } from './ssh-client.ts'

/** Longest time of a request, with or without faults. */
export const REQUEST_LIMIT_MS = 60_000

/** Returns a signal that aborts a request after its longest time. */
export function requestLimit(): AbortSignal {
  return AbortSignal.timeout(REQUEST_LIMIT_MS)
}

/** Clients of the server of a run, over links that can be cut and that outlive the server's restarts. */
export class Clients {
  readonly api: WorkspaceServer
  /** Undefined where OpenSSH is not installed. */
  readonly ssh: SshClient | undefined
  readonly #http: CuttableLink
  readonly #sshLink: CuttableLink

  private constructor(http: CuttableLink, sshLink: CuttableLink, ssh: SshClient | undefined) {
    this.api = connect({ url: urlOf(http.port) })
    this.ssh = ssh
    this.#http = http
    this.#sshLink = sshLink
  }

  static async open(server: PrivateServer, directory: string, hostKey: string): Promise<Clients> {
    const [http, ssh] = await Promise.all([
      CuttableLink.open(() => server.process?.httpPort),
      CuttableLink.open(() => server.process?.sshPort),
    ])
    return new Clients(http, ssh, await SshClient.create(directory, hostKey))
  }

  /** Opens a connection to a port inside a workspace, which the signal also ends. */
  async openTunnel(workspace: string, port: number, signal: AbortSignal): Promise<Duplex> {
    const server = { name: 'torture', url: urlOf(this.#http.port) }
    const path = `/api/workspaces/${workspace}/connect/${port}`
    return addAbortSignal(signal, await openTunnelTo(server, path, { signal }))
  }

  /** Runs a command over SSH; undefined when it or the connection failed. */
  async runOverSsh(
    workspace: string,
    command: string,
    input: string,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    return this.ssh?.run(this.#sshLink.port, workspace, command, input, signal)
  }

  /** Resets every connection; returns their number. */
  cut(): number {
    return this.#http.cut() + this.#sshLink.cut()
  }

  close(): void {
    this.#http.close()
    this.#sshLink.close()
  }
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`
}
