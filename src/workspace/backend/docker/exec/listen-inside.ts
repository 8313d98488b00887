import { randomBytes } from 'node:crypto'
import { unlinkSync } from 'node:fs'
import { chmod, chown, open, rename } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { INSIDE, type InsideDirs } from './inside-dirs.ts'

/** A Unix socket in a workspace's directory. */
export interface InsideSocket {
  readonly name: string
  /** Where this machine has it. */
  readonly file: string
  /** Where programs in the workspace find it. */
  readonly path: string
  /** Takes it away and leaves its connections. */
  readonly stopListening: () => void
}

/**
 * Listens on a Unix socket in a workspace's directory, which one user of the workspace may connect to, or everyone who knows
 * its name. It is made where no workspace sees it and moved when it is theirs, so that it is never open to others.
 */
export async function listenInside(
  dirs: InsideDirs,
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
        // It is one of the two, or went with its workspace.
      }
    }
  }
  try {
    await listen(server, dirs.root, `.${name}`)
    // What waits inside a workspace keeps no process of ours from its end.
    server.unref()
    await chmod(made, forWhom === 'everyone' ? 0o666 : 0o600)
    if (forWhom !== 'everyone') await chown(made, forWhom, -1)
    await rename(made, file)
  } catch (error) {
    stopListening()
    throw error
  }
  return { name, file, path: `${INSIDE}/${name}`, stopListening }
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
