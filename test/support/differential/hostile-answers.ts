import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { randomFor, type Random } from './random.ts'

/** A hostile response of an upstream, and what a client may then receive. */
export interface HostileAnswer {
  readonly text: string
  /** Whether the upstream closes the connection afterwards: cleanly, with a reset, or not at all. */
  readonly closing: 'end' | 'reset' | 'nothing'
  /**
   * `invalid`: only 502 or a closed connection; `cut`: also a truncated response; otherwise the status and body of the one
   * response that may be forwarded instead.
   */
  readonly allows: 'invalid' | 'cut' | { readonly status: number; readonly body: string }
}

const OK = 'HTTP/1.1 200 OK\r\n'
const EVIL = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nX-Evil: 1\r\n\r\nEVIL'
const CHUNKED = '5\r\nhello\r\n0\r\n\r\n'

/** Responses to a plain GET. Extra data must never be treated as the response to another request. */
const HOSTILE_ANSWERS: readonly HostileAnswer[] = [
  ...[
    `${OK}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
    `${OK}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n${CHUNKED}`,
    `${OK}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!`,
    `${OK}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
    `${OK}Content-Length: 5, 5\r\n\r\nhello`,
    `${OK}Content-Length: +5\r\n\r\nhello`,
    `${OK}Content-Length: -1\r\n\r\nhello`,
    `${OK}Content-Length : 5\r\n\r\nhello`,
    `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n${CHUNKED}`,
    `${OK}Transfer-Encoding: chunked, gzip\r\n\r\n${CHUNKED}`,
    `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
    `${OK}Transfer-Encoding: identity\r\n\r\nhello`,
    `HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKED}`,
    `HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello`,
    `HTTP/0.9 200 OK\r\nContent-Length: 5\r\n\r\nhello`,
    `${OK}X: a\r\n folded\r\nContent-Length: 5\r\n\r\nhello`,
    `${OK}X: a\rb\r\nContent-Length: 5\r\n\r\nhello`,
    `${OK}X: a\nY: b\r\nContent-Length: 5\r\n\r\nhello`,
    `${OK}X\0: a\r\nContent-Length: 5\r\n\r\nhello`,
    `${OK}X: \x01\r\nContent-Length: 5\r\n\r\nhello`,
    `${OK}no colon\r\nContent-Length: 5\r\n\r\nhello`,
    `${OK}: a\r\nContent-Length: 5\r\n\r\nhello`,
    `HTTP/1.1 200 O\rK\r\nContent-Length: 5\r\n\r\nhello`,
    `HTTP/1.1 099 Low\r\nContent-Length: 5\r\n\r\nhello`,
    `HTTP/1.1 2000 High\r\nContent-Length: 5\r\n\r\nhello`,
    `HTTP/1.1 20 Short\r\nContent-Length: 5\r\n\r\nhello`,
    `${OK}X: ${'x'.repeat(70_000)}\r\nContent-Length: 5\r\n\r\nhello`,
    'nonsense\r\n\r\n',
    '\0\0\0\0',
    '',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nEVIL',
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n'.repeat(10_000),
    'HTTP/1.1 100 Continue\r\n\r\n'.repeat(10_000),
    'HTTP/1.1 103 Early Hints\r\n\r\nnonsense',
    'HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello',
  ].map((text): HostileAnswer => ({ text, closing: 'end', allows: 'invalid' })),
  ...[
    `${OK}Content-Length: 50\r\n\r\nhello`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhel`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n0\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n10000000000000005\r\nhello\r\n0\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n`,
    `${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n`,
  ].flatMap((text): readonly HostileAnswer[] => [
    { text, closing: 'end', allows: 'cut' },
    { text, closing: 'reset', allows: 'cut' },
  ]),
  { text: `${OK}\r\nhello`, closing: 'reset', allows: 'cut' },
  ...[
    ['HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n', 204, ''],
    ['HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello', 204, ''],
    ['HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 204, ''],
    [`HTTP/1.1 204 No Content\r\n\r\n${EVIL}`, 204, ''],
    ['HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', 304, ''],
    [`HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n${EVIL}`, 304, ''],
    [`${OK}Content-Length: 5\r\n\r\nhello${EVIL}`, 200, 'hello'],
    [`${OK}Content-Length: 5\r\n\r\nhello more`, 200, 'hello'],
    [`${OK}Transfer-Encoding: chunked\r\n\r\n${CHUNKED}${EVIL}`, 200, 'hello'],
    [`${OK}Connection: content-length, transfer-encoding\r\nContent-Length: 5\r\n\r\nhello`, 200, 'hello'],
    [`${OK}Connection: close\r\nContent-Length: 5\r\n\r\nhello`, 200, 'hello'],
    [
      `${OK}${Array.from({ length: 1_000 }, (_, at) => `${at}:\r\n`).join('')}Content-Length: 5\r\n\r\nhello`,
      200,
      'hello',
    ],
    [`HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello`, 200, 'hello'],
    ['ICE/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello', 200, 'hello'],
    [
      `HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n${OK}Content-Length: 5\r\n\r\nhello`,
      200,
      'hello',
    ],
    [
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${OK}Content-Length: 5\r\n\r\nhello`,
      200,
      'hello',
    ],
    [
      `${OK}Trailer: X-T, Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: t\r\nSet-Cookie: late=1\r\n\r\n`,
      200,
      'hello',
    ],
    [`${OK}Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 5\r\n\r\nhello`, 200, 'hello'],
  ].flatMap(([text, status, body]): readonly HostileAnswer[] => {
    const allows = { status: Number(status), body: String(body) }
    return [
      { text: String(text), closing: 'nothing', allows },
      { text: String(text), closing: 'end', allows },
    ]
  }),
  { text: `${OK}\r\nhello`, closing: 'end', allows: { status: 200, body: 'hello' } },
  { text: 'HTTP/1.0 200 OK\r\n\r\nhello', closing: 'end', allows: { status: 200, body: 'hello' } },
]

/** An upstream that answers `/good/N` correctly and other targets with the hostile response whose number ends the target. */
export async function startHostileUpstream(seed: number) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    let text = ''
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const [, kind, number = ''] = /^\S+ \/(good|bad)\/(\d+)/.exec(text) ?? []
        text = text.slice(end + 4)
        if (kind === 'good') socket.write(`${OK}Content-Length: ${number.length}\r\n\r\n${number}`)
        else answer(socket, Number(number), randomFor(seed, Number(number)))
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** Returns the hostile response to a numbered request. */
export function hostileAnswer(seed: number, number: number): HostileAnswer {
  return randomFor(seed, number).pick(HOSTILE_ANSWERS)
}

function answer(socket: Socket, number: number, random: Random): void {
  const { text, closing, allows } = random.pick(HOSTILE_ANSWERS)
  const close = (): void => {
    if (closing === 'end') socket.end()
    if (closing === 'reset') socket.resetAndDestroy()
  }
  const bytes = Buffer.from(text, 'latin1')
  // In one piece or two, so that late data is read separately. Data after a complete response is sent with it: once the next
  // request is in flight, HTTP/1.1 cannot distinguish it from that request's response.
  const mayHaveRest = typeof allows === 'object'
  const at = number % 3 === 0 && !mayHaveRest ? random.below(bytes.length + 1) : bytes.length
  socket.write(bytes.subarray(0, at), () => {
    if (at === bytes.length) return close()
    setTimeout(() => socket.write(bytes.subarray(at), close), 2)
  })
}
