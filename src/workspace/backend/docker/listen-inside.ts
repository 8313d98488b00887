import { randomBytes } from 'node:crypto'
import { chmod, chown, open, rename, unlink } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import type { InsideListener } from '../backend.ts'
import { INSIDE, type InsideDirs } from './inside-dirs.ts'

/** How many connections one socket holds at once. */
const MAX_CONNECTIONS = 100

/**
 * Listens on a Unix socket in a workspace's directory, which one user of the workspace may connect to. It is made where no
 * workspace sees it and moved when it is that user's; so there is no moment at which it is open to others.
 */
export async function listenInside(
  dirs: InsideDirs,
  workspace: string,
  userId: number,
  onConnection: (connection: Duplex) => void,
): Promise<InsideListener> {
  const name = randomBytes(16).toString('hex')
  const made = join(dirs.root, `.${name}`)
  const path = join(dirs.pathOf(workspace), name)
  const connections = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    connections.add(connection)
    connection.on('error', () => undefined).once('close', () => connections.delete(connection))
    onConnection(connection)
  })
  server.maxConnections = MAX_CONNECTIONS
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const connection of connections) connection.destroy()
    await Promise.all([made, path].map((each) => unlink(each).catch(() => undefined)))
    await closed
  }
  try {
    await listen(server, dirs.root, `.${name}`)
    await chmod(made, 0o600)
    await chown(made, userId, -1)
    await rename(made, path)
  } catch (error) {
    await close()
    throw error
  }
  return { path: `${INSIDE}/${name}`, close }
}

/** A socket's path may have 107 bytes, and a directory's may have more: a descriptor stands for it. */
async function listen(server: Server, directory: string, name: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(`/proc/self/fd/${handle.fd}/${name}`, () => {
        server.off('error', reject)
        resolve()
      })
    })
  } finally {
    await handle.close()
  }
}
