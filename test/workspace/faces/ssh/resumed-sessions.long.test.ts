import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { serve } from '../../../../guest/agent/serve.ts'
import { GuestClient } from '../../../../src/workspace/backend/microvm/guest/guest-client.ts'
import { briefLink } from '../../../support/brief-link.ts'
import { Random } from '../../../support/differential/random.ts'
import { SEED } from '../../../support/seed.ts'

const CUTS = 1_000
const TOTAL_BYTES = 2 ** 30
const PIECE_BYTES = 256 * 1024
test('F38 a gigabyte in each direction is equal after 1,000 broken connections', async () => {
  const random = new Random(SEED)
  let links = 0
  const client = new GuestClient(() =>
    Promise.resolve({
      dialGuest: () => {
        links += 1
        // Replayed bytes count too, so that all cuts happen before the end.
        const [host, guest] = briefLink(random, links <= CUTS ? TOTAL_BYTES / CUTS : Number.MAX_SAFE_INTEGER)
        void serve(guest)
        return Promise.resolve(host)
      },
      environment: {},
      bootKey: '1',
    }),
  )
  const [sent, arrived, received] = [createHash('sha256'), createHash('sha256'), createHash('sha256')]
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('data', (chunk) => arrived.update(chunk))
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const connection = await client.dial('any', port)
  const ended = once(connection, 'end')
  connection.on('data', (chunk: Buffer) => received.update(chunk))
  const piece = randomBytes(PIECE_BYTES)
  for (let i = 0; i < TOTAL_BYTES / PIECE_BYTES; i++) {
    const numbered = Buffer.from(piece)
    numbered.writeUInt32BE(i)
    sent.update(numbered)
    if (!connection.write(numbered)) await once(connection, 'drain')
  }
  connection.end()
  await ended
  server.close()
  const digest = sent.digest('hex')
  expect([arrived.digest('hex'), received.digest('hex')]).toEqual([digest, digest])
  expect(links).toBeGreaterThan(CUTS)
})
