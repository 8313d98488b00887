import { type IncomingMessage, request as httpRequest, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { answerRaw } from '../../lib/http/raw-answer.ts'
import { joinStreams } from '../../lib/process/join-streams.ts'
import { endToEnd, toProcess } from './forwarded-headers.ts'

interface Upgrade {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** What came with the request already. */
  readonly head: Buffer
  /** Where the process listens; undefined when there is none. */
  readonly port: number | undefined
  readonly timeoutMs: number
  /** Tells how it was answered, once. */
  readonly report: (status: number) => void
}

/** Hands a connection on that leaves HTTP, such as a WebSocket. Source: RFC 9110, 7.8. */
export function forwardUpgrade({ request, socket, head, port, timeoutMs, report }: Upgrade): void {
  socket.on('error', () => socket.destroy())
  const refuse = (status: number, error: string): void => {
    report(status)
    answerRaw(socket, status, { error, code: STATUS_CODES[status] ?? '' })
  }
  if (port === undefined) return refuse(404, 'there is no such process')
  const headers = [...toProcess(request), 'Connection', 'Upgrade', 'Upgrade', request.headers.upgrade ?? '']
  const upstream = httpRequest({
    host: '127.0.0.1',
    port,
    method: request.method,
    path: request.url,
    headers,
    agent: false,
  })
  const limit = setTimeout(() => upstream.destroy(new Error('no answer in time')), timeoutMs)
  const leave = (): void => void upstream.destroy()
  socket.once('close', leave)
  upstream.on('upgrade', (answered, far, farHead) => {
    clearTimeout(limit)
    socket.off('close', leave)
    report(101)
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      ...endToEnd(answered).map(([name, value]) => `${name}: ${value}`),
      'Connection: Upgrade',
      `Upgrade: ${answered.headers.upgrade ?? request.headers.upgrade ?? ''}`,
    ]
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
    if (farHead.length > 0) socket.write(farHead)
    if (head.length > 0) far.write(head)
    void joinStreams(socket, far)
  })
  upstream.on('response', (answered) => {
    clearTimeout(limit)
    const { statusCode = 502 } = answered
    report(statusCode)
    const lines = [
      `HTTP/1.1 ${statusCode} ${answered.statusMessage ?? ''}`,
      ...endToEnd(answered).map(([name, value]) => `${name}: ${value}`),
      'Connection: close',
    ]
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
    // Its end is where the connection ends, as no length may be said.
    answered.on('error', () => socket.destroy())
    answered.pipe(socket)
  })
  upstream.on('error', (error) => {
    clearTimeout(limit)
    if (socket.destroyed) report(499)
    else refuse(502, `the process does not answer: ${error.message}`)
  })
  upstream.end()
}
