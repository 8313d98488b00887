import { createInterface } from 'node:readline'
import { type Duplex } from 'node:stream'
import { encodeFrame, FRAME } from '../src/lib/mux/frame.ts'
import { plantHostileMachine } from '../test/support/hostile/hostile-machine.ts'

// node noisy-machine.ts NAME: creates a machine whose agent has been replaced, and prints the settings of a server
// that adopts it. A line on standard input, `frames` or `channels`, starts a flood that ends with the next line.

const CHUNK_BYTES = 64 * 1024
const tiny = Buffer.concat(encodeFrame(5_000, FRAME.data, Buffer.alloc(1)))
const opened = Buffer.concat([
  ...encodeFrame(5_000, FRAME.open, Buffer.from('1024')),
  ...encodeFrame(5_000, FRAME.reset),
])
const FLOODS: Readonly<Record<string, Buffer>> = {
  frames: Buffer.concat(Array(Math.floor(CHUNK_BYTES / tiny.length)).fill(tiny)),
  channels: Buffer.concat(Array(Math.floor(CHUNK_BYTES / opened.length)).fill(opened)),
}

let flood: Buffer | undefined
let session: Duplex | undefined

/** Writes until the buffer is full, and continues when it has drained. */
function send(): void {
  if (session === undefined || session.destroyed || flood === undefined) return
  if (session.write(flood)) setImmediate(send)
  else session.once('drain', send)
}

const machine = await plantHostileMachine(process.argv[2] ?? 'noisy-machine')
machine.onSession((begun) => {
  session = begun.resume()
  send()
})
console.log(JSON.stringify(machine.settings))
for await (const line of createInterface({ input: process.stdin })) {
  flood = FLOODS[line]
  send()
}
machine.remove()
process.exit(0)
