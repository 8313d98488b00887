import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import pino from 'pino'
import { systemClock } from '../../../../src/lib/clock/clock.ts'
import { checkSettings } from '../../../../src/lib/config/check.ts'
import { decodeSettings } from '../../../../src/lib/config/decode.ts'
import { EgressAuthority } from '../../../../src/workspace/egress/authority.ts'
import { EgressProxy } from '../../../../src/workspace/egress/proxy.ts'
import type { EgressEntry } from '../../../../src/workspace/egress/request-log.ts'
import { egressSection, egressSettings } from '../../../../src/workspace/egress/settings.ts'
import { UpstreamConnections } from '../../../../src/workspace/egress/upstream.ts'

/** Resolves the section `egress` of a configuration. */
function egressOf(settings: object, environment: Readonly<Record<string, string>> = {}) {
  return egressSettings(
    decodeSettings(egressSection, checkSettings(egressSection, settings, 'test.yaml')),
    environment,
  )
}

/** A request that an upstream received. */
interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** An HTTPS server for `localhost`, and the authority that signed its certificate. */
export interface Upstream {
  readonly server: HttpsServer
  readonly port: number
  readonly authority: EgressAuthority
  readonly received: Received[]
  readonly close: () => Promise<void>
}

/** Starts a server that records what it receives and responds with it. */
export async function startUpstream(host = 'localhost'): Promise<Upstream> {
  const authority = await EgressAuthority.derive('secret of the upstream', 'upstream', systemClock)
  const received: Received[] = []
  const context = await authority.contextFor(host)
  const server = createHttpsServer(
    { SNICallback: (_name, done) => done(null, context), maxHeaderSize: 100_000 },
    (request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { method = '', url = '', headers, rawHeaders } = request
        received.push({ method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString() })
        response.end(JSON.stringify({ method, url }))
      })
    },
  )
  const port = await listen(server)
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { server, port, authority, received, close }
}

/** An egress proxy that listens on a port of this machine. */
export interface ServedProxy {
  readonly port: number
  readonly certificate: string
  readonly entries: EgressEntry[]
  readonly close: () => void
}

/** Serves a profile. @param authorities PEM */
export async function serveProfile(
  settings: object,
  profileName: string,
  authorities: string | undefined,
  environment: Readonly<Record<string, string>> = {},
): Promise<ServedProxy> {
  const { profiles, secrets } = egressOf(settings, environment)
  const profile = profiles.get(profileName)
  if (profile === undefined) throw new Error(`there is no profile ${profileName}`)
  const entries: EgressEntry[] = []
  const authority = await EgressAuthority.derive('secret of the server', 'demo', systemClock)
  const proxy = new EgressProxy({
    profile,
    secrets,
    authority,
    upstreams: new UpstreamConnections(authorities),
    report: (entry) => entries.push(entry),
    clock: systemClock,
    logger: pino({ level: 'silent' }),
  })
  const server = createServer({ allowHalfOpen: true, noDelay: true }, proxy.serve)
  const port = await listen(server)
  const close = (): void => {
    server.close()
    proxy.close()
  }
  return { port, certificate: authority.certificate, entries, close }
}

/** Listens on a free port of the loopback address. */
async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Sends bytes and resolves with everything that arrives until the connection ends or is silent for a while. */
export async function exchange(socket: Socket, bytes: string | Buffer, quietMs = 400): Promise<string> {
  const chunks: Buffer[] = []
  return new Promise((resolve) => {
    const finish = (): void => {
      socket.destroy()
      resolve(Buffer.concat(chunks).toString('latin1'))
    }
    let quiet = setTimeout(finish, quietMs * 5)
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      clearTimeout(quiet)
      quiet = setTimeout(finish, quietMs)
    })
    socket.on('error', finish).on('close', finish)
    socket.write(bytes)
  })
}

/** Opens a tunnel; resolves with its socket, or the proxy's refusal. */
export async function openTunnel(proxyPort: number, authority: string): Promise<Socket | string> {
  const socket = connect(proxyPort, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
  const head = await new Promise<string>((resolve) => {
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString('latin1'))).once('close', () => resolve(''))
  })
  if (head.startsWith('HTTP/1.1 200')) return socket
  socket.destroy()
  return head
}

/** Opens a tunnel and a TLS connection in it. @throws the error of the handshake */
export async function openSecured(
  proxy: Pick<ServedProxy, 'port' | 'certificate'>,
  authority: string,
  options: { readonly servername?: string; readonly ALPNProtocols?: string[] } = {},
): Promise<TLSSocket> {
  const socket = await openTunnel(proxy.port, authority)
  if (typeof socket === 'string') throw new Error(socket.split('\r\n')[0])
  const [host = ''] = authority.split(':')
  const secured = connectTls({
    socket,
    servername: host,
    ca: proxy.certificate,
    checkServerIdentity: () => undefined,
    ...options,
  })
  await new Promise<void>((resolve, reject) => {
    secured.once('secureConnect', resolve).once('error', reject)
    socket.once('close', () => reject(new Error('closed')))
  })
  return secured
}
