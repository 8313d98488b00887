import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Mux } from '../../src/lib/mux/mux.ts'
import { GuestFailure } from './failure.ts'
import { workspaceUser } from './image-config.ts'
import { findUser } from './users.ts'

const DIRECTORY = '/run/workspace'
/** Maximum number of connections per socket, so that a workspace does not exhaust the host's. */
const MAX_CONNECTIONS = 100

/**
 * Listens on a Unix socket that only one user, by default the workspace's, can open; each connection becomes a channel to the host.
 * The socket is removed with the host's connection.
 */
export async function serveListen(
  connection: Duplex,
  userName: string | undefined,
  accept: (answer: { readonly path: string }) => void,
): Promise<void> {
  const user = userName === undefined ? workspaceUser() : findUser(userName)
  if (user === undefined) throw new GuestFailure('NO_SUCH_USER', `there is no user "${userName}" inside`)
  mkdirSync(DIRECTORY, { recursive: true, mode: 0o755 })
  const directory = `${DIRECTORY}/${randomBytes(16).toString('hex')}`
  mkdirSync(directory, { mode: 0o700 })
  const path = `${directory}/socket`
  const held = new Set<Socket>()
  let mux: Mux | undefined
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    if (mux === undefined || held.size >= MAX_CONNECTIONS) {
      socket.destroy()
      return
    }
    held.add(socket)
    socket.once('close', () => held.delete(socket))
    const channel = mux.open(Buffer.alloc(0))
    channel.on('error', () => undefined)
    channel.once('close', () => socket.destroy())
    socket.once('close', () => channel.destroy())
    socket.pipe(channel).pipe(socket)
  })
  const clean = (): void => {
    server.close()
    for (const socket of held) socket.destroy()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
    chmodSync(path, 0o600)
    chownSync(path, user.uid, user.gid)
    chownSync(directory, user.uid, user.gid)
  } catch (error) {
    clean()
    throw error
  }
  connection.once('close', clean)
  accept({ path })
  mux = new Mux(connection, { isFirst: false })
}
