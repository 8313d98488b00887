import { createReadStream, createWriteStream } from 'node:fs'
import { chown, unlink } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../../lib/errors/ignore.ts'
import { ignoreMissing } from '../../../lib/fs/ignore-missing.ts'
import { syncDirectory } from '../../../lib/fs/write-durable.ts'
import { QMP_SOCKET } from './command-line.ts'
import { qmp } from './qmp.ts'

/** Name of the socket over which QEMU sends and receives a VM's memory. */
const MEMORY_SOCKET = 'memory.sock'
/** QEMU stops a VM only when its pending disk writes are done. */
const STOP_TIMEOUT_MS = 60_000
const CONNECT_TIMEOUT_MS = 10_000
const POLL_MS = 20
/** Codes of the error when the other side closes a socket before this one has ended it. */
const CLOSED_THERE: ReadonlySet<string | undefined> = new Set([
  'ERR_STREAM_PREMATURE_CLOSE',
  'EPIPE',
  'ECONNRESET',
])
/** In bytes per second: QEMU's own limit protects networks, and this is a local socket. */
const BANDWIDTH = 2 ** 40

/**
 * Pauses a VM and writes its memory and the state of its devices to a new file, durably. QEMU sends both over a
 * socket, because its sandbox forbids the program that `exec:` would need, and files are this server's. Pages of
 * zeros take no space. On failure the VM runs on and there is no file. Source: QEMU's devel/migration.
 *
 * @param user UID of QEMU; undefined when it is the server's
 */
export async function saveMemory(
  socketDir: string,
  path: string,
  mostBytes: number,
  user: number | undefined,
): Promise<void> {
  const control = join(socketDir, QMP_SOCKET)
  const at = join(socketDir, MEMORY_SOCKET)
  const server = createServer({ pauseOnConnect: true })
  try {
    // Left behind by a server that was killed.
    await unlink(at).catch(ignoreMissing)
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(at, resolve))
    if (user !== undefined) await chown(at, user, user)
    const connected = nextConnection(server)
    const migrate = { execute: 'migrate', arguments: { uri: `unix:${at}` } }
    const unlimited = { execute: 'migrate-set-parameters', arguments: { 'max-bandwidth': BANDWIDTH } }
    await qmp(control, [{ execute: 'stop' }, unlimited, migrate], STOP_TIMEOUT_MS)
    await receive(await connected, path, mostBytes)
    await confirmSaved(control)
  } catch (error) {
    await qmp(control, [{ execute: 'migrate_cancel' }]).catch(ignore('the cause is reported'))
    await unpause(socketDir).catch(ignore('the caller tries it again and reports it'))
    await unlink(path).catch(ignoreMissing)
    throw error
  } finally {
    server.close()
  }
}

/** Loads a VM's memory into a QEMU that waits for it (`-incoming defer`); the VM stays paused. */
export async function loadMemory(socketDir: string, path: string): Promise<void> {
  const control = join(socketDir, QMP_SOCKET)
  const at = join(socketDir, MEMORY_SOCKET)
  await qmp(control, [{ execute: 'migrate-incoming', arguments: { uri: `unix:${at}` } }])
  const sent = pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), connect(at))
  // QEMU closes the connection after the last byte that it needs: its status shows whether it has all of them.
  await sent.catch((error: NodeJS.ErrnoException) => {
    if (!CLOSED_THERE.has(error.code)) throw error
  })
  while ((await statusOf(control)) === 'inmigrate') await delay(POLL_MS)
}

/** Pauses a VM once its pending disk writes are done. */
export async function pause(socketDir: string): Promise<void> {
  await qmp(join(socketDir, QMP_SOCKET), [{ execute: 'stop' }], STOP_TIMEOUT_MS)
}

/** Lets a paused VM run; does nothing when it is running. */
export async function unpause(socketDir: string): Promise<void> {
  const control = join(socketDir, QMP_SOCKET)
  if ((await statusOf(control)) !== 'running') await qmp(control, [{ execute: 'cont' }], STOP_TIMEOUT_MS)
}

/** Returns QEMU's version, such as "7.2.22". */
export async function readVersion(socketDir: string): Promise<string> {
  const answer = await qmp(join(socketDir, QMP_SOCKET), [{ execute: 'query-version' }])
  const { qemu } = answer as { readonly qemu: { readonly [part in 'major' | 'minor' | 'micro']: number } }
  return `${qemu.major}.${qemu.minor}.${qemu.micro}`
}

function nextConnection(server: Server): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(new Error('QEMU sends no memory')),
      STOP_TIMEOUT_MS + CONNECT_TIMEOUT_MS,
    )
    server.once('connection', (socket) => {
      clearTimeout(late)
      resolve(socket)
    })
    server.once('close', () => clearTimeout(late))
  })
}

/** Writes what arrives to a new file. A QEMU that the guest controls may send any amount: it is bounded. */
async function receive(connection: Socket, path: string, mostBytes: number): Promise<void> {
  let bytes = 0
  const bound = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes <= mostBytes) done(null, chunk)
      else done(new Error(`the VM's memory is larger than ${mostBytes} bytes`))
    },
  })
  await pipeline(connection, bound, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }))
  await syncDirectory(dirname(path))
}

/** Waits until QEMU reports that it has sent everything. Source: QEMU's qapi/migration.json. */
async function confirmSaved(control: string): Promise<void> {
  for (;;) {
    const answer = await qmp(control, [{ execute: 'query-migrate' }])
    const { status, 'error-desc': why } = answer as {
      readonly status?: string
      readonly 'error-desc'?: string
    }
    if (status === 'completed') return
    if (status === 'failed' || status === 'cancelled') throw new Error(why ?? `QEMU reports: ${status}`)
    await delay(POLL_MS)
  }
}

async function statusOf(control: string): Promise<string> {
  const answer = await qmp(control, [{ execute: 'query-status' }])
  return (answer as { readonly status: string }).status
}
