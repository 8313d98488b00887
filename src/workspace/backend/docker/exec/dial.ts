import { Duplex } from 'node:stream'
import { messageOf } from '../../../../lib/errors/message.ts'
import { canDialNamespaces, dialNamespace } from '../../../../native/net/netns.ts'
import { fault } from '../../../errors.ts'
import type { ExecProcess } from '../../backend.ts'
import { DialLimit } from './dial-limit.ts'

const CONNECT_TIMEOUT_MS = 10_000
/** What says that the container's network cannot be entered from this process. */
const ELSEWHERE = new Set(['EPERM', 'EACCES', 'ENOENT', 'ESRCH'])
const dials = new DialLimit()

/** Where a container's main process is, as its engine reports it. */
export interface ContainerProcess {
  readonly id: string
  readonly pid: number
}

/**
 * Connects to a port on the loopback address inside a container: from its own network namespace where the engine runs
 * on this machine and the kernel lets us, else by a program that the container has.
 *
 * @throws CONNECT_FAILED
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
 * Connects to a port on the loopback address of a process's network namespace. Returns undefined where the process has ended, is not the
 * container's, or its namespace cannot be entered.
 *
 * @throws CONNECT_FAILED
 */
export async function dialProcess({ id, pid }: ContainerProcess, port: number): Promise<Duplex | undefined> {
  // Another machine's engine, or a virtual machine's, reports numbers that mean someone else here.
  if (!canDialNamespaces() || pid <= 1) return undefined
  try {
    return await dials.run(id, () => dialNamespace(pid, id, port, CONNECT_TIMEOUT_MS))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!ELSEWHERE.has(code ?? ''))
      throw refused(port, code === 'ECONNREFUSED' ? 'nothing listens there' : messageOf(error), error)
    return undefined
  }
}

/**
 * Tells by one line whether it is connected, since a program that waits says nothing of its own. With bash alone the end
 * of what the client sends is not passed on: it has no way to end one half of a connection.
 */
const RELAY = `
port=$1
if command -v socat >/dev/null; then
  socat -u OPEN:/dev/null "TCP:127.0.0.1:$port" 2>/dev/null && echo ok && exec socat - "TCP:127.0.0.1:$port"
elif command -v bash >/dev/null; then
  exec bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" && echo ok && { cat <&0 >&3 & cat <&3; kill $!; }' "$port" 2>/dev/null
fi
echo failed`

async function dialByProgram(port: number, relay: ExecProcess): Promise<Duplex> {
  relay.stderr.resume()
  const line = await firstLine(relay)
  if (line !== 'ok') {
    await relay.hangUp()
    throw refused(port, 'nothing listens there, or the image has neither socat nor bash')
  }
  const stream = Duplex.from({ readable: relay.stdout, writable: relay.stdin })
  stream.once('close', () => void relay.hangUp().catch(() => undefined))
  return stream
}

/** Reads the first line; what follows it stays in the stream. */
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
  // At once: a stream without bytes whose program has ended its output ends, and then accepts none.
  if (head.length > end + 1) stdout.unshift(head.subarray(end + 1))
  return head.subarray(0, end).toString()
}

function refused(port: number, why: string, cause?: unknown) {
  return fault('CONNECT_FAILED', `port ${port} inside the workspace cannot be reached: ${why}`, cause)
}
