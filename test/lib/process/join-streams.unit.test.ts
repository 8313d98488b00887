import { type Duplex, duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { joinStreams } from '../../../src/lib/process/join-streams.ts'

const aMoment = () => new Promise((resolve) => setImmediate(resolve))

/** A client and a program, joined. */
function joined(): {
  readonly client: Duplex
  readonly near: Duplex
  readonly program: Duplex
  readonly closed: Promise<void>
} {
  const [client, near] = duplexPair()
  const [far, program] = duplexPair()
  return { client, near, program, closed: joinStreams(near, far) }
}

test.each(['is silent', 'prints'])(
  'a connection whose peer vanishes after the end of its data is released when the other side %s',
  async (what) => {
    const { client, near, program, closed } = joined()
    client.end('all of it')
    // It reads its input to the end, and stays.
    const input = text(program)
    await aMoment()
    expect(await input).toBe('all of it')
    const printing = what === 'prints' ? setInterval(() => program.write('x'), 1) : undefined
    near.destroy()
    await closed
    clearInterval(printing)
  },
)

test('what a client sent before it vanished arrives', async () => {
  const { client, near, program, closed } = joined()
  const data = 'x'.repeat(1_000_000)
  client.end(data)
  near.once('end', () => near.destroy())
  expect((await text(program)).length).toBe(data.length)
  await closed
})
