import type { Socket } from 'node:net'
import type { InsideListener } from '../../backend.ts'
import { BoundedConnections } from './bounded-connections.ts'
import type { MountedSocketDirs } from './mounted-socket-dirs.ts'
import { listenInside } from './listen-inside.ts'

/** Listens on a socket that one user of a workspace may connect to; closing it closes its connections. */
export async function listenForUser(
  dirs: MountedSocketDirs,
  workspace: string,
  userId: number,
  onConnection: (connection: Socket) => void,
): Promise<InsideListener> {
  const connections = new BoundedConnections(onConnection)
  const { path, stopListening } = await listenInside(dirs, workspace, userId, (each) => connections.add(each))
  return {
    path,
    close() {
      stopListening()
      connections.close()
      return Promise.resolve()
    },
  }
}
