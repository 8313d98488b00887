import { randomBytes } from 'node:crypto'
import { unlinkSync } from 'node:fs'
import { chmod, chown, open, rename } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { MOUNT_POINT, type MountedSocketDirs } from './mounted-socket-dirs.ts'

/** A Unix socket in a workspace's directory. */
export interface InsideSocket {
  readonly name: string
  /** Path on this machine. */
  readonly file: string
  /** Path inside the workspace. */
  readonly path: string
  /** Removes the socket but keeps its connections. */
  readonly stopListening: () => void
}

/**
 * Listens on a Unix socket in a workspace's directory that one user of the workspace may connect to, or
 * everyone who knows its name. The socket is created out of the workspace's sight and moved once its owner is
 * set, so that others can never open it.
 */
export async function listenInside(
  dirs: MountedSocketDirs,
  workspace: string,
  forWhom: number | 'everyone',
  onConnection: (connection: Socket) => void,
): Promise<InsideSocket> {
  const name = randomBytes(16).toString('hex')
  const made = join(dirs.root, `.${name}`)
  const file = join(dirs.pathOf(workspace), name)
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    onConnection(connection.on('error', () => undefined))
  })
  const stopListening = (): void => {
    server.close()
    for (const each of [made, file]) {
      try {
        unlinkSync(each)
      } catch {
        // Only one of the two exists, or the workspace's directory was removed.
      }
    }
  }
  try {
    await listen(server, dirs.root, `.${name}`)
    // Listening inside a workspace must not keep this process alive.
    server.unref()
    await chmod(made, forWhom === 'everyone' ? 0o666 : 0o600)
    if (forWhom !== 'everyone') await chown(made, forWhom, -1)
    await rename(made, file)
  } catch (error) {
    stopListening()
    throw error
  }
  return { name, file, path: `${MOUNT_POINT}/${name}`, stopListening }
}

/**
 * Listens through /proc/self/fd, because a socket's path is limited to 107 bytes and the directory's may be
 * longer.
 */
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
