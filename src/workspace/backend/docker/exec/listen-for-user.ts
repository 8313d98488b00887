import type { Socket } from 'node:net'
import type { InsideListener } from '../../backend.ts'
import type { MountedSocketDirs } from './mounted-socket-dirs.ts'
import { listenInside } from './listen-inside.ts'

/** Connection limit per socket, so that a workspace cannot exhaust the server's descriptors. */
const MAX_CONNECTIONS = 100

/** Listens on a socket that one user of a workspace may connect to; closing it closes its connections. */
export async function listenForUser(
  dirs: MountedSocketDirs,
  workspace: string,
  userId: number,
  onConnection: (connection: Socket) => void,
): Promise<InsideListener> {
  const connections = new Set<Socket>()
  const { path, stopListening } = await listenInside(dirs, workspace, userId, (connection) => {
    if (connections.size >= MAX_CONNECTIONS) {
      connection.destroy()
      return
    }
    connections.add(connection)
    connection.once('close', () => connections.delete(connection))
    onConnection(connection)
  })
  return {
    path,
    close() {
      stopListening()
      for (const connection of connections) connection.destroy()
      return Promise.resolve()
    },
  }
}
