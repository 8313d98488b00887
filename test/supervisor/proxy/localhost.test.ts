import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { startLoopbackServer } from '../../support/http/loopback-server.ts'
import { freePort } from '../../support/services/free-port.ts'
import { askProxy } from '../../support/supervisor/proxied.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

const SLEEP = 'exec sleep 1000'
const CHECKS = { interval: '10ms', retries: 1 }

test.each(['127.0.0.1', '::1'] as const)(
  'a process that listens on %s only is reached by the proxy and by every health check of localhost',
  async (address) => {
    const { server, port } = await startLoopbackServer(address)
    server.on('upgrade', (_request, socket) => {
      socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nswitched')
    })
    const { running, ask } = await startSupervisor(
      {
        web: { cmd: SLEEP, proxy: { port }, healthcheck: { tcp: port, ...CHECKS } },
        named: { cmd: SLEEP, healthcheck: { tcp: `localhost:${port}`, ...CHECKS } },
        asked: { cmd: SLEEP, healthcheck: { http: `http://localhost:${port}/`, ...CHECKS } },
      },
      { proxy: { enabled: true, port: 0 } },
    )
    for (const name of ['web', 'named', 'asked'])
      await waitFor(name, async () => (await ask(`/processes/${name}`)).body.health === 'healthy')
    for (const method of ['GET', 'POST'])
      expect(await askProxy(running.proxyPort, '/', { method })).toMatchObject({ status: 200, body: address })
    const client = connect(running.proxyPort ?? 0, '127.0.0.1')
    client.write('GET / HTTP/1.1\r\nHost: web.localhost\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
    expect(await text(client)).toMatch(/^HTTP\/1\.1 101 [^]*switched$/)
    expect((await ask('/processes/web/why')).body.ports).toMatchObject([{ port, holder: {} }])
  },
)

test('the page and the check of a process that listens nowhere name localhost', async () => {
  const port = await freePort()
  const { running, ask } = await startSupervisor(
    { web: { cmd: SLEEP, proxy: { port }, healthcheck: { tcp: port, ...CHECKS } } },
    { proxy: { enabled: true, port: 0, hold: '0s' } },
  )
  await waitFor('the check', async () => (await ask('/processes/web')).body.health === 'unhealthy')
  expect((await ask('/processes/web')).body.healthcheck.last_output).toBe(
    `connect ECONNREFUSED 127.0.0.1:${port}; connect ECONNREFUSED ::1:${port}`,
  )
  expect((await askProxy(running.proxyPort, '/')).body).toContain(
    `nothing listens on port ${port} of localhost.`,
  )
})
