import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { MountedSocketDirs } from './mounted-socket-dirs.ts'
import { type InsideSocket, listenInside } from './listen-inside.ts'

const TOKEN_LENGTH = 32
/**
 * Time limit for a connection to send its token, and the number of connections that may be doing so, so that
 * a workspace cannot exhaust the server's descriptors.
 */
const GRACE_MS = 10_000
const MAX_UNKNOWN = 64

/** A runner that is expected to connect. */
export interface Expected {
  /** The token the runner must send; known to nobody else. */
  readonly token: string
  readonly connected: Promise<Socket>
  /** Stops waiting for the runner. */
  readonly forget: () => void
}

/** A socket in a workspace's directory to which the runners that this process started connect. */
export class RunnerSocket {
  readonly name: string
  readonly #socket: InsideSocket
  readonly #expected: Map<string, (runner: Socket) => void>

  private constructor(socket: InsideSocket, expected: Map<string, (runner: Socket) => void>) {
    this.name = socket.name
    this.#socket = socket
    this.#expected = expected
  }

  static async open(dirs: MountedSocketDirs, workspace: string): Promise<RunnerSocket> {
    const expected = new Map<string, (runner: Socket) => void>()
    const unknown = new Set<Socket>()
    const socket = await listenInside(dirs, workspace, 'everyone', (connection) => {
      if (unknown.size >= MAX_UNKNOWN) {
        connection.destroy()
        return
      }
      unknown.add(connection)
      connection.once('close', () => unknown.delete(connection))
      receive(connection, (token) => {
        unknown.delete(connection)
        const meet = expected.get(token)
        expected.delete(token)
        if (meet === undefined) connection.destroy()
        else meet(connection)
      })
    })
    return new RunnerSocket(socket, expected)
  }

  /** Whether the socket still exists at its path; it is removed together with its workspace. */
  get exists(): boolean {
    return existsSync(this.#socket.file)
  }

  expect(): Expected {
    const token = randomBytes(TOKEN_LENGTH / 2).toString('hex')
    const { promise, resolve } = Promise.withResolvers<Socket>()
    this.#expected.set(token, resolve)
    return { token, connected: promise, forget: () => void this.#expected.delete(token) }
  }

  /** Removes the socket; connected runners stay connected. */
  close(): void {
    this.#socket.stopListening()
  }
}

/** Reads exactly the token with which a connection starts. */
function receive(connection: Socket, onToken: (token: string) => void): void {
  connection.setTimeout(GRACE_MS, () => connection.destroy())
  const read = (): void => {
    const bytes = connection.read(TOKEN_LENGTH) as Buffer | null
    // A stream that ends within the token has no valid token either.
    if (bytes === null) return
    connection.off('readable', read)
    connection.setTimeout(0)
    onToken(bytes.toString('latin1'))
  }
  connection.on('readable', read).once('end', () => connection.destroy())
}
