import type { Random } from './random.ts'
import { type Pairs, render, type SentRequest } from './sent-request.ts'

type Malformation = (sent: SentRequest, random: Random) => string

const FRAMING = /^(?:content-length|transfer-encoding|trailer|upgrade)$/i
const CHUNKED = '5\r\nhello\r\n0\r\n\r\n'

/** Replaces the framing of a request. */
function framed(lines: string, body: string, version?: string): Malformation {
  return (sent, random) => {
    const headers = sent.headers.filter(([name]) => !FRAMING.test(name))
    const head = render(
      { ...sent, version: version ?? '1.1', headers, body: '', isChunked: false },
      random,
    ).slice(0, -2)
    return `${head}${lines}\r\n\r\n${body}`
  }
}

/** Adds raw header lines. */
function withLines(lines: string): Malformation {
  return (sent, random) => {
    const text = render(sent, random)
    const end = text.indexOf('\r\n\r\n')
    return `${text.slice(0, end)}\r\n${lines}${text.slice(end)}`
  }
}

/** Replaces the request line. */
function withLine(line: (sent: SentRequest) => string): Malformation {
  return (sent, random) => {
    const text = render(sent, random)
    return line(sent) + text.slice(text.indexOf('\r\n'))
  }
}

function withHeaders(change: (headers: Pairs) => Pairs): Malformation {
  return (sent, random) => {
    const headers = change(sent.headers)
    return render({ ...sent, headers }, random)
  }
}

/** Mutations that make a request's end, host, target or syntax ambiguous; each must be refused. */
const MALFORMATIONS: readonly Malformation[] = [
  framed('Content-Length: 5\r\nContent-Length: 6', 'hello!'),
  framed('Content-Length: 5\r\nContent-Length: 5', 'hello'),
  framed('Content-Length: 5, 5', 'hello'),
  framed('Content-Length: 5\r\nTransfer-Encoding: chunked', CHUNKED),
  framed('Transfer-Encoding: chunked\r\nContent-Length: 5', CHUNKED),
  framed('Transfer-Encoding: gzip, chunked', CHUNKED),
  framed('Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked', CHUNKED),
  framed('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', CHUNKED),
  framed('Transfer-Encoding: chunked, identity', CHUNKED),
  framed('Transfer-Encoding: identity', 'hello'),
  framed('Transfer-Encoding: xchunked', CHUNKED),
  framed('Transfer-Encoding: "chunked"', CHUNKED),
  framed('Transfer-Encoding: chunked;a=b', CHUNKED),
  framed('Transfer-Encoding: \x0bchunked', CHUNKED),
  framed('Transfer-Encoding:', CHUNKED),
  framed('Transfer-Encoding : chunked', CHUNKED),
  framed('Transfer-Encoding: chunked', CHUNKED, '1.0'),
  framed('Content-Length: +5', 'hello'),
  framed('Content-Length: -5', 'hello'),
  framed('Content-Length: 0x5', 'hello'),
  framed('Content-Length: 5 5', 'hello'),
  framed('Content-Length: five', 'hello'),
  framed('Content-Length:', 'hello'),
  framed('Content-Length: 18446744073709551621', 'hello'),
  framed('Content-Length : 5', 'hello'),
  framed('Transfer-Encoding: chunked', 'hello\r\n'),
  framed('Transfer-Encoding: chunked', '-5\r\nhello\r\n0\r\n\r\n'),
  framed('Transfer-Encoding: chunked', '0x5\r\nhello\r\n0\r\n\r\n'),
  framed('Transfer-Encoding: chunked', '5\r\nhelloX\r\n0\r\n\r\n'),
  framed('Transfer-Encoding: chunked', '5\nhello\r\n0\r\n\r\n'),
  framed('Transfer-Encoding: chunked', '5;\n\r\nhello\r\n0\r\n\r\n'),
  framed('Transfer-Encoding: chunked', '10000000000000005\r\nhello\r\n0\r\n\r\n'),
  framed('Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\nX: a\r\n b\r\n\r\n'),
  framed('Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\nno colon\r\n\r\n'),
  framed('Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n'),
  framed('Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n'),
  framed('Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5', 'hello'),
  framed('Connection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked', CHUNKED),
  framed('Connection: content-length\r\nContent-Length: 5', 'hello'),
  framed('Connection: close, Transfer-Encoding\r\nTransfer-Encoding: chunked', CHUNKED),
  framed('Connection: x\r\nConnection: \tHOST', ''),
  framed('Connection: trailer', ''),
  withLines('Host: smuggled'),
  withLines('X: a\r\n folded'),
  withLines(' folded'),
  withLines('X : a'),
  withLines(': a'),
  withLines('no colon'),
  withLines('X\0: a'),
  withLines('X: a\0b'),
  withLines('X: a\rb'),
  withLines('X: a\nContent-Length: 5'),
  withLines('X(a): b'),
  withLines('X\xe9: b'),
  withLines('X: \x01'),
  withLines(Array.from({ length: 1_000 }, (_, at) => `${at}:`).join('\r\n')),
  withHeaders((headers) => headers.filter(([name]) => name !== 'Host')),
  withHeaders((headers) => headers.map(([name, value]) => [name, name === 'Host' ? '' : value])),
  withLine(({ method, target }) => `${method} ${target}#fragment HTTP/1.1`),
  withLine(({ method }) => `${method} http://evil.example/ HTTP/1.1`),
  withLine(({ method }) => `${method} evil HTTP/1.1`),
  withLine(({ method, target }) => `${method} ${target}caf\xe9 HTTP/1.1`),
  withLine(({ method, target }) => `${method} ${target} b HTTP/1.1`),
  withLine(({ method, target }) => `${method} ${target}\0 HTTP/1.1`),
  withLine(({ method, target }) => `${method}\t${target} HTTP/1.1`),
  withLine(({ method, target }) => `${method} ${target} HTTP/1.2`),
  withLine(({ method, target }) => `${method} ${target} HTTP/2.0`),
  withLine(({ method, target }) => `${method} ${target} HTTPS/1.1`),
  withLine(({ target }) => `get ${target} HTTP/1.1`),
  withLine(({ target }) => `G(T ${target} HTTP/1.1`),
  withLine(({ method, target }) => `${method} *${target} HTTP/1.1`),
  (sent, random) => render(sent, random).replaceAll('\r\n', '\n'),
]

/** Returns a request that a strict server refuses. */
export function malformed(sent: SentRequest, random: Random): string {
  return random.pick(MALFORMATIONS)(sent, random)
}
