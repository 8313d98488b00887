import { expect, test } from 'vitest'
import { sendRaw, statusOf } from '../../support/http/raw-http.ts'
import { startRawUpstream } from '../../support/http/raw-upstream.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const HEAD = 'HTTP/1.1\r\nHost: web.localhost\r\nConnection: close\r\n'
/** End of a request, by the header that frames its body. */
const ENDS: Readonly<Record<string, string>> = {
  'Content-Length: 3': 'abc',
  'Transfer-Encoding: chunked': '\r\n0\r\n\r\n',
}
const REQUESTS = [
  `GET / ${HEAD}\r\n`,
  `HEAD / ${HEAD}\r\n`,
  `OPTIONS / ${HEAD}\r\n`,
  `POST / ${HEAD}Content-Length: 0\r\n\r\n`,
  `POST / ${HEAD}Content-Length: 3\r\n\r\nabc`,
  `POST / ${HEAD}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
  `PUT / ${HEAD}Content-Length: 3\r\n\r\nabc`,
  `PATCH / ${HEAD}Content-Length: 3\r\n\r\nabc`,
  `DELETE / ${HEAD}\r\n`,
  `GET / ${HEAD}Content-Length: 3\r\n\r\nabc`,
]

test.each(REQUESTS)(
  '%j never fails because its process closes a connection that it kept alive',
  async (request) => {
    const answered: string[] = []
    const { port } = await startRawUpstream((socket, received) => {
      const [, head = ''] = /\r\n(Content-Length: 3|Transfer-Encoding: chunked)\r\n/.exec(received) ?? []
      if (!received.endsWith(ENDS[head] ?? '\r\n\r\n')) return
      // The time-out of an idle connection passes just as its next request arrives.
      if (received.split('HTTP/1.1\r\n').length > 2) {
        socket.destroy()
        return
      }
      answered.push(received.split(' ')[0] ?? '')
      socket.write(received.startsWith('HEAD') ? OK.slice(0, -2) : OK)
    })
    const { running } = await startSupervisor(
      { web: { cmd: 'exec sleep 1000', proxy: { port } } },
      { proxy: { enabled: true, port: 0 } },
    )
    const send = async (each: string) => statusOf(await sendRaw(running.proxyPort ?? 0, each))
    // Leaves a connection in the pool.
    expect(await send(`GET / ${HEAD}\r\n`)).toBe(200)
    for (let count = 1; count <= 3; count++) expect(await send(request)).toBe(200)
    const [method = ''] = request.split(' ')
    expect(answered).toEqual(['GET', method, method, method])
  },
)

test('a POST that a process may have begun is not sent to it again', async () => {
  const upstream = await startRawUpstream((socket, received) =>
    received.startsWith('POST') ? socket.destroy() : socket.write(OK),
  )
  const { running } = await startSupervisor(
    { web: { cmd: 'exec sleep 1000', proxy: { port: upstream.port } } },
    { proxy: { enabled: true, port: 0 } },
  )
  const send = async (request: string) => statusOf(await sendRaw(running.proxyPort ?? 0, request))
  expect(await send(`GET / ${HEAD}\r\n`)).toBe(200)
  expect(await send(`POST / ${HEAD}Content-Length: 3\r\n\r\nabc`)).toBe(502)
  expect(upstream.received.filter((each) => each.includes('POST'))).toHaveLength(1)
})
