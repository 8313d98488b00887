import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions, TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { speaksTls } from '../../../src/lib/connection/speaks-tls.ts'
import { EgressAuthority } from '../../../src/workspace/egress/authority.ts'

const authority = await EgressAuthority.derive('secret', 'test', systemClock)
const secureContext = await authority.contextFor('localhost')

/** Accepts connections by TLS with a certificate. */
const accept = (options: TlsOptions) => (socket: Socket) =>
  void new TLSSocket(socket, { ...options, isServer: true, secureContext }).on('error', () => undefined)

/** Refuses every handshake. */
const withoutCertificate = (socket: Socket) => {
  const server = createTlsServer().on('tlsClientError', () => undefined)
  server.emit('connection', socket)
}

test.each<[string, (socket: Socket) => unknown, boolean]>([
  ['a server with a certificate', accept({}), true],
  [
    'one that asks for the certificate of the client',
    accept({ requestCert: true, rejectUnauthorized: true }),
    true,
  ],
  ['one of TLS 1.3 alone', accept({ minVersion: 'TLSv1.3' }), true],
  ['one without a certificate', withoutCertificate, true],
  ['one that closes', (socket) => socket.end(), false],
  ['one that resets', (socket) => socket.resetAndDestroy(), false],
  [
    'one that sends its bytes singly',
    (socket) => void (socket.write('\x15'), setImmediate(() => socket.end('\x03'))),
    true,
  ],
  ['HTTP', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), false],
  ['SSH', (socket) => socket.write('SSH-2.0-test\r\n'), false],
  ['a single byte', (socket) => socket.end('\x16'), false],
  ['a handshake of another protocol', (socket) => socket.end('\x16\x10'), false],
])('a connection to %s', async (_title, serve, expected) => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    serve(socket)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const connection = connect((server.address() as AddressInfo).port, '127.0.0.1')
  expect(await speaksTls(connection)).toBe(expected)
  expect(connection.destroyed).toBe(true)
})

test('a connection that fails does not speak TLS', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  expect(await speaksTls(connect(port, '127.0.0.1'))).toBe(false)
})
