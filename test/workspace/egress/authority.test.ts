import { type AddressInfo, createServer } from 'node:net'
import { connect, TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { EgressAuthority } from '../../../src/workspace/egress/authority.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const DAY_MS = 86_400_000

/** Returns the dates of the certificate that a client gets for a host. */
async function datesOf(authority: EgressAuthority, host: string): Promise<readonly number[]> {
  const secureContext = await authority.contextFor(host)
  const server = createServer((socket) => {
    new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => undefined)
  })
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', servername: host, rejectUnauthorized: false })
  onTestFinished(() => void client.destroy())
  await new Promise<void>((resolve, reject) => client.once('secureConnect', resolve).once('error', reject))
  const { valid_from: from, valid_to: to } = client.getPeerCertificate()
  return [Date.parse(from), Date.parse(to)]
}

test('certificates are valid however long ago the authority was created, and renewed in time', async () => {
  const clock = new FakeClock()
  await clock.pass(Date.UTC(2030, 0, 1))
  const authority = await EgressAuthority.derive('secret', 'demo', clock)
  for (let day = 0; day <= 120; day += 10) {
    for (const host of ['known.test', `new-${day}.test`]) {
      const [from = 0, to = 0] = await datesOf(authority, host)
      expect(from).toBeLessThan(clock.wallMs())
      expect(to).toBeGreaterThan(clock.wallMs() + 2 * DAY_MS)
    }
    await clock.pass(10 * DAY_MS)
  }
})
