import { type AddressInfo, createServer, type Socket } from 'node:net'
import ssh2, { type Connection, type ServerConfig } from 'ssh2'
import { isFault } from '../../../lib/errors/fault.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { Backend } from '../../backend/backend.ts'
import { fault } from '../../errors.ts'
import { parseWorkspaceName } from '../../lifecycle/name.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import type { BackendName, Workspace } from '../../workspace.ts'
import { authenticate } from './authenticate.ts'
import type { HostKey } from './host-key.ts'
import { serveSession } from './session.ts'
import { mendWindows } from './window-fix.ts'

/** Kept free for the API's own use; no workspace can be reached by it. */
const RESERVED_USER = '_api'

/** Only what is sound and what ssh2 really does: it offers group exchange to clients and cannot do it (threat S6). */
const ALGORITHMS: NonNullable<ServerConfig['algorithms']> = {
  kex: ['curve25519-sha256', 'curve25519-sha256@libssh.org'],
  serverHostKey: ['ssh-ed25519'],
  cipher: ['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com', 'chacha20-poly1305@openssh.com', 'aes256-ctr'],
  hmac: ['hmac-sha2-256-etm@openssh.com', 'hmac-sha2-512-etm@openssh.com'],
  compress: ['none'],
}

/** How long a connection may take to prove a key (threat S5). */
const GRACE_MS = 30_000
/** How long clients get to close their side when the server stops. */
const STOP_GRACE_MS = 1_000

export interface SshServerOptions {
  readonly hostKey: HostKey
  readonly table: WorkspaceTable
  readonly backends: ReadonlyMap<BackendName, Backend>
  readonly logger: Logger
  readonly graceMs?: number
}

/** The SSH face: the user name is the workspace. */
export class SshServer {
  readonly #listener = createServer((socket) => this.#admit(socket))
  readonly #server: ssh2.Server
  /** By `address port` of the other side. ssh2 tells of a connection only after its first line. */
  readonly #sockets = new Map<string, { readonly socket: Socket; readonly grace: NodeJS.Timeout }>()
  readonly #connections = new Set<Connection>()
  readonly #options: SshServerOptions

  constructor(options: SshServerOptions) {
    this.#options = options
    this.#server = new ssh2.Server(
      { hostKeys: [options.hostKey.privateKey], ident: 'workspace', algorithms: ALGORITHMS },
      (connection, { ip, port }) => this.#serve(connection, ip, port),
    )
  }

  /** Resolves with the port. */
  async listen(at: { readonly host: string; readonly port: number }): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#listener.once('error', reject)
      this.#listener.listen(at.port, at.host, () => {
        this.#listener.removeListener('error', reject)
        this.#listener.on('error', (error: Error) => this.#options.logger.error({ err: error }, 'SSH server'))
        resolve()
      })
    })
    return (this.#listener.address() as AddressInfo).port
  }

  /** Says goodbye to every client; one that does not close its side is cut off a second later. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()))
    for (const connection of this.#connections) connection.end()
    const cut = setTimeout(() => {
      for (const { socket } of this.#sockets.values()) socket.destroy()
    }, STOP_GRACE_MS)
    await closed
    clearTimeout(cut)
  }

  /** Gives a connection a limited time to prove a key, whether or not it ever says a word. */
  #admit(socket: Socket): void {
    const key = `${socket.remoteAddress} ${socket.remotePort}`
    const grace = setTimeout(() => socket.destroy(), this.#options.graceMs ?? GRACE_MS)
    this.#sockets.set(key, { socket, grace })
    socket.once('close', () => {
      clearTimeout(grace)
      this.#sockets.delete(key)
    })
    this.#server.injectSocket(socket)
  }

  #serve(connection: Connection, ip: string, port: number): void {
    const { logger } = this.#options
    this.#connections.add(connection)
    connection.once('close', () => this.#connections.delete(connection))
    connection.on('error', (error) => logger.debug({ err: error, address: ip }, 'SSH connection'))
    // Without it every small answer waits for the client's delayed acknowledgement, some 40 ms.
    ;(connection as Connection & { setNoDelay(isOn: boolean): void }).setNoDelay(true)
    mendWindows(connection)
    let user = ''
    connection.on('authentication', (context) => (user = context.username))
    authenticate(connection, ip, logger)
    connection.once('ready', () => clearTimeout(this.#sockets.get(`${ip} ${port}`)?.grace))
    connection.on('session', (accept) => {
      const { port: serverPort, address: serverIp } = this.#listener.address() as AddressInfo
      const target = {
        user,
        enter: () => this.#enter(user),
        connection: `${ip} ${port} ${serverIp} ${serverPort}`,
      }
      serveSession(accept(), target, logger)
    })
  }

  /** The backend of a running workspace; throws a fault that tells the user what to do otherwise. */
  #enter(user: string): { readonly backend: Backend; readonly name: string } {
    const { table, backends } = this.#options
    const workspace = findWorkspace(table, user)
    const backend = backends.get(workspace.backend)
    if (workspace.state.is !== 'running' || backend === undefined) throw notRunning(workspace)
    return { backend, name: workspace.name }
  }
}

function findWorkspace(table: WorkspaceTable, user: string): Workspace {
  if (user === RESERVED_USER)
    throw fault('WORKSPACE_NOT_FOUND', `"${RESERVED_USER}" is reserved and no workspace`)
  try {
    return table.get(parseWorkspaceName(user))
  } catch (error) {
    if (!isFault(error)) throw error
    throw fault('WORKSPACE_NOT_FOUND', `${error.message}; "workspace list" shows what there is`)
  }
}

function notRunning({ name, state }: Workspace) {
  const remedy = state.is === 'starting' ? 'try again in a moment' : `start it with: workspace start ${name}`
  const why = state.is === 'error' ? `broken (${state.message})` : state.is
  return fault('WORKSPACE_NOT_RUNNING', `workspace "${name}" is ${why}; ${remedy}`)
}
