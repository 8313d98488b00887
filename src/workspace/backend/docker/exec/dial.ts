import { Duplex } from 'node:stream'
import { messageOf } from '../../../../lib/errors/message.ts'
import { canDialNamespaces, dialNamespace } from '../../../../native/net/netns.ts'
import { fault } from '../../../errors.ts'
import type { ExecProcess } from '../../backend.ts'
import { DialLimit } from './dial-limit.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** Error codes meaning that this process cannot enter the container's network namespace. */
const ELSEWHERE = new Set(['EPERM', 'EACCES', 'ENOENT', 'ESRCH'])
const dials = new DialLimit()

/** A container's main process as reported by the engine. */
export interface ContainerProcess {
  readonly id: string
  readonly pid: number
}

/**
 * Connects to a port on the loopback address inside a container: from its own network namespace when the
 * engine runs on this machine and the kernel allows it, else through a program inside the container.
 *
 * @throws CONNECT_FAILED when nothing accepts the connection
 */
export async function dialContainer(
  container: ContainerProcess,
  port: number,
  exec: (argv: readonly string[]) => Promise<ExecProcess>,
): Promise<Duplex> {
  return (
    (await dialProcess(container, port)) ??
    dialByProgram(port, await exec(['/bin/sh', '-c', RELAY, 'sh', String(port)]))
  )
}

/**
 * Connects to a port on the loopback address of a process's network namespace. Resolves to undefined when the
 * process has exited, does not belong to the container, or its namespace cannot be entered.
 *
 * @throws CONNECT_FAILED when nothing accepts the connection
 */
export async function dialProcess({ id, pid }: ContainerProcess, port: number): Promise<Duplex | undefined> {
  // The engine of another machine or of a VM reports ids that belong to unrelated processes here.
  if (!canDialNamespaces() || pid <= 1) return undefined
  try {
    return await dials.run(id, () => dialNamespace(pid, id, port, CONNECT_TIMEOUT_MS))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!ELSEWHERE.has(code ?? ''))
      throw refused(port, code === 'ECONNREFUSED' ? 'connection refused' : messageOf(error), error)
    return undefined
  }
}

/**
 * Connects to 127.0.0.1, or else to ::1. Prints `ok` once connected, because a relay that waits prints
 * nothing. With bash alone the client's end of input is not forwarded: bash cannot shut down one half of a
 * connection.
 */
const RELAY = `
port=$1
if command -v socat >/dev/null; then
  for host in 127.0.0.1 '[::1]'; do
    socat -u OPEN:/dev/null "TCP:$host:$port" 2>/dev/null && echo ok && exec socat - "TCP:$host:$port"
  done
elif command -v bash >/dev/null; then
  exec bash -c '{ exec 3<>"/dev/tcp/127.0.0.1/$0" || exec 3<>"/dev/tcp/::1/$0"; } && echo ok && { cat <&0 >&3 & cat <&3; kill $!; }' "$port" 2>/dev/null
fi
echo failed`

async function dialByProgram(port: number, relay: ExecProcess): Promise<Duplex> {
  relay.stderr.resume()
  const line = await firstLine(relay)
  if (line !== 'ok') {
    await relay.hangUp()
    throw refused(port, 'connection refused, or the image has neither socat nor bash')
  }
  const stream = Duplex.from({ readable: relay.stdout, writable: relay.stdin })
  stream.once('close', () => void relay.hangUp())
  return stream
}

/** Reads the first line; the bytes after it stay in the stream. */
async function firstLine({ stdout }: ExecProcess): Promise<string> {
  let head = Buffer.alloc(0)
  while (!head.includes(0x0a)) {
    const chunk = stdout.read() as Buffer | null
    if (chunk !== null) head = Buffer.concat([head, chunk])
    else if (stdout.readableEnded || stdout.destroyed) break
    else {
      await new Promise<void>((resolve) => {
        stdout.once('readable', resolve).once('end', resolve).once('close', resolve)
      })
    }
  }
  const end = head.indexOf(0x0a)
  if (end < 0) return head.toString()
  // Immediately: a stream without buffered bytes ends when its program has closed its output, and then
  // rejects unshift.
  if (head.length > end + 1) stdout.unshift(head.subarray(end + 1))
  return head.subarray(0, end).toString()
}

function refused(port: number, why: string, cause?: unknown) {
  return fault('CONNECT_FAILED', `port ${port} inside the workspace cannot be reached: ${why}`, cause)
}
