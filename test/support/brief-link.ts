import { type Duplex, duplexPair } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { Random } from './differential/random.ts'

/** A link that breaks within a chunk: the bytes of one direction up to a random one arrive. */
export function briefLink(random: Random, mostBytes: number): readonly [Duplex, Duplex] {
  const [left, leftWire] = duplexPair()
  const [right, rightWire] = duplexPair()
  const all = [left, leftWire, right, rightWire]
  const end = (): void => all.forEach((each) => each.destroy())
  for (const [from, to] of [
    [leftWire, rightWire],
    [rightWire, leftWire],
  ] as const) {
    let rest = random.below(mostBytes) + 20
    from.on('data', (chunk: Buffer) => {
      if (rest > 0 && !to.destroyed) to.write(chunk.subarray(0, rest))
      rest -= chunk.length
      if (rest <= 0) void setImmediate().then(end)
    })
    from.on('error', () => undefined).once('close', end)
  }
  return [left, right]
}
