import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { resetSocket } from '../../src/lib/process/reset-socket.ts'

// Resets one connection after another, each at a different moment of its end, and then has nothing more to do.

type Step = (socket: Socket) => unknown

const end: Step = (socket) => socket.end()
const tick: Step = () => new Promise<void>((resolve) => process.nextTick(resolve))
const turn: Step = () => setImmediate()
const write: Step = (socket) => socket.write(Buffer.alloc(64))
/** More than the buffers of the system hold, so that the end is not yet being sent. */
const fill: Step = (socket) => socket.write(Buffer.alloc(64 * 2 ** 20))
const peerEnds: Step = (socket) => once(socket.resume(), 'end')

const CASES: readonly (readonly Step[])[] = [
  [],
  [end],
  [end, tick],
  [end, tick, tick],
  [end, turn],
  [write, end],
  [write, end, tick],
  [write, end, turn],
  [fill, end],
  [fill, end, turn],
  [peerEnds],
  [peerEnds, end],
  [peerEnds, end, tick],
  [(socket) => socket.destroy()],
  [end, (socket) => socket.destroy()],
]

for (const steps of CASES)
  for (const isConnecting of [false, true]) {
    const endsFirst = steps.includes(peerEnds)
    const server = createServer({ allowHalfOpen: true }, (peer) => {
      peer.on('error', () => undefined)
      if (endsFirst) peer.end()
      peer.on('close', () => server.close())
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
    const closed = once(socket, 'close')
    if (!isConnecting) await once(socket, 'connect')
    for (const step of steps) await step(socket)
    resetSocket(socket)
    await closed
    // A connection that was never made has not been seen by the server.
    server.close()
  }
process.stdout.write(`${CASES.length} cases closed\n`)
