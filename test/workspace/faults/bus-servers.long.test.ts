import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readEventStream } from '../../support/http/event-stream.ts'
import { startNats } from '../../support/services/nats.ts'
import { serve } from '../../support/served.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { call } from '../../support/workspace/server/test-server.ts'

/** Servers in separate processes on one bus. */
async function startServers(names: readonly string[]) {
  const nats = await startNats()
  onTestFinished(() => nats.end())
  const start = (name: string) =>
    serve({
      stateDir: join(tempDir(), 'state'),
      settings: { name, enabled_backends: [], bus: { nats: { servers: [nats.url] } } },
    })
  const servers = await Promise.all(names.map(start))
  const others = async (url: string) =>
    Number(/^bus_servers (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1])
  const see = (url: string, count: number) =>
    waitFor(`${count} others`, async () => (await others(url)) === count)
  for (const { url } of servers) await see(url, names.length - 1)
  return { servers, see }
}

const pathOf = (url: string, namespace = 'demo') => `${url}/api/plugins/listeners/${namespace}/messages`

test('B1 F19 F20 F31 servers that register concurrently, are killed or are suspended leave one listener', async () => {
  const { servers, see } = await startServers(['one', 'two', 'three'])
  const [one, two, three] = servers
  if (one === undefined || two === undefined || three === undefined) throw new Error('a server is missing')

  for (let i = 0; i < 20; i++) {
    const controller = new AbortController()
    const { signal } = controller
    const all = await Promise.all(servers.map(({ url }) => fetch(pathOf(url, `demo-${i}`), { signal })))
    expect(all.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409])
    controller.abort()
  }

  expect((await readEventStream(pathOf(one.url))).response.status).toBe(200)
  expect(await call(pathOf(two.url))).toMatchObject({ status: 409 })
  await one.end('SIGKILL')
  await see(two.url, 1)
  const first = await readEventStream(pathOf(two.url))
  expect(first.response.status).toBe(200)

  two.child.kill('SIGSTOP')
  await see(three.url, 0)
  const second = await readEventStream(pathOf(three.url))
  expect(second.response.status).toBe(200)
  two.child.kill('SIGCONT')
  // The longest listener keeps the namespace, and the suspended one never left.
  await second.ended
  await waitFor('one listener', async () => {
    const all = await Promise.all([two, three].map(({ url }) => call(`${url}/api/plugins/listeners`)))
    return all.every(({ body }) => body.listeners.length === 1)
  })
  expect(await call(pathOf(three.url))).toMatchObject({ status: 409 })
})
