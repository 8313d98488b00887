import type { IncomingMessage, RequestOptions } from 'node:http'
import { request as httpRequest } from './node-http.ts'
import type { Duplex } from 'node:stream'
import { joinStreams } from '../process/join-streams.ts'
import { endToEnd, type HeaderPairs } from './forwarded-headers.ts'

interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** What came with the request already. */
  readonly head: Buffer
  /** Where it goes: an address, or a connection that is made already; and by which path, if not by its own. */
  readonly upstream: Pick<RequestOptions, 'host' | 'port' | 'path' | 'createConnection'>
  /** The request's headers there, without those of the connection. */
  readonly headers: HeaderPairs
  /** The answer's headers here, likewise; as they come when left out. */
  readonly toClient?: (answer: IncomingMessage) => HeaderPairs
  readonly timeoutMs: number
  /** Tells how it was answered, once. */
  readonly report: (status: number) => void
  /** Answers that there is no answer, and why. */
  readonly refuse: (error: Error) => void
}

/** Hands a connection on that leaves HTTP, such as a WebSocket. Source: RFC 9110, 7.8. */
export function forwardUpgrade(upgrade: Upgrade): void {
  const { request, socket, head, headers, toClient = endToEnd, report } = upgrade
  socket.on('error', () => socket.destroy())
  const upstream = httpRequest({
    method: request.method,
    path: request.url,
    agent: upgrade.upstream.createConnection === undefined ? false : undefined,
    ...upgrade.upstream,
    headers: [...headers.flat(), 'Connection', 'Upgrade', 'Upgrade', request.headers.upgrade ?? ''],
  } as RequestOptions)
  const limit = setTimeout(() => upstream.destroy(new Error('no answer in time')), upgrade.timeoutMs)
  const leave = (): void => void upstream.destroy()
  socket.once('close', leave)
  const writeHead = (status: string, lines: HeaderPairs): void => {
    const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.write(`HTTP/1.1 ${status}\r\n${text}\r\n`, 'latin1')
  }
  upstream.on('upgrade', (answered, far, farHead) => {
    clearTimeout(limit)
    socket.off('close', leave)
    report(101)
    const protocol = answered.headers.upgrade ?? request.headers.upgrade ?? ''
    writeHead('101 Switching Protocols', [
      ...toClient(answered),
      ['Connection', 'Upgrade'],
      ['Upgrade', protocol],
    ])
    if (farHead.length > 0) socket.write(farHead)
    if (head.length > 0) far.write(head)
    void joinStreams(socket, far)
  })
  upstream.on('response', (answered) => {
    clearTimeout(limit)
    const { statusCode = 502 } = answered
    report(statusCode)
    writeHead(`${statusCode} ${answered.statusMessage ?? ''}`, [
      ...toClient(answered),
      ['Connection', 'close'],
    ])
    // Its end is where the connection ends, as no length may be said.
    answered.on('error', () => socket.destroy())
    answered.pipe(socket)
  })
  upstream.on('error', (error) => {
    clearTimeout(limit)
    if (socket.destroyed) report(499)
    else upgrade.refuse(error)
  })
  upstream.end()
}
