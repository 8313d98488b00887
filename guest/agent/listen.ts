import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type ListenOptions, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Mux } from '../../src/lib/mux/mux.ts'
import { GuestFailure } from './failure.ts'
import { workspaceUser } from './image-config.ts'
import { portNumber } from './port-number.ts'
import { findUser } from './users.ts'

const DIRECTORY = '/run/workspace'
/** Maximum number of connections per listener, so that a workspace does not exhaust the host's. */
const MAX_CONNECTIONS = 100

/**
 * Listens on a Unix socket that only one user, by default the workspace's, can open; each connection becomes a channel to the host.
 * The socket is removed with the host's connection.
 */
export async function serveListen(
  userName: string | undefined,
  accept: (answer: { readonly path: string }) => Duplex,
): Promise<void> {
  const user = userName === undefined ? workspaceUser() : findUser(userName)
  if (user === undefined) throw new GuestFailure('NO_SUCH_USER', `there is no user "${userName}" inside`)
  mkdirSync(DIRECTORY, { recursive: true, mode: 0o755 })
  const directory = `${DIRECTORY}/${randomBytes(16).toString('hex')}`
  mkdirSync(directory, { mode: 0o700 })
  const path = `${directory}/socket`
  const forwarder = new Forwarder()
  const clean = (): void => {
    forwarder.close()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await forwarder.listen({ path })
    chmodSync(path, 0o600)
    chownSync(path, user.uid, user.gid)
    chownSync(directory, user.uid, user.gid)
  } catch (error) {
    clean()
    throw error
  }
  const connection = accept({ path })
  connection.once('close', clean)
  forwarder.forwardTo(connection)
}

/** Listens on a TCP port of 127.0.0.1 until the host's connection closes; each connection becomes a channel to the host. */
export async function serveListenPort(connection: Duplex, port: unknown, accept: () => void): Promise<void> {
  const forwarder = new Forwarder()
  try {
    await forwarder.listen({ host: '127.0.0.1', port: portNumber(port) })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new GuestFailure('ADDRESS_IN_USE', `a program inside uses port ${String(port)}`)
  }
  connection.once('close', () => forwarder.close())
  accept()
  forwarder.forwardTo(connection)
}

/** A listener whose connections become channels of the host's connection. */
class Forwarder {
  readonly #connections = new Set<Socket>()
  #mux: Mux | undefined
  readonly #server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#forward(socket))

  listen(at: ListenOptions): Promise<void> {
    return new Promise((resolve, reject) => this.#server.once('error', reject).listen(at, resolve))
  }

  /** Refuses connections until now. */
  forwardTo(connection: Duplex): void {
    this.#mux = new Mux(connection, { isFirst: false })
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#connections) socket.destroy()
  }

  #forward(socket: Socket): void {
    socket.on('error', () => undefined)
    if (this.#mux === undefined || this.#connections.size >= MAX_CONNECTIONS) return void socket.destroy()
    this.#connections.add(socket)
    socket.once('close', () => this.#connections.delete(socket))
    const channel = this.#mux.open(Buffer.alloc(0))
    channel.on('error', () => undefined)
    channel.once('close', () => socket.destroy())
    socket.once('close', () => channel.destroy())
    socket.pipe(channel).pipe(socket)
  }
}
