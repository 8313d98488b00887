import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import {
  docker,
  dockerBackend,
  removeLeftovers,
  TEST_IMAGE,
  uniqueName,
} from '../../support/engine/docker.ts'
import { readEventStream } from '../../support/http/event-stream.ts'
import { sample } from '../../support/rounds.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

let server: TestServer
beforeAll(async () => {
  const serverId = randomUUID()
  server = await startWorkspaceServer({
    backends: () => [dockerBackend({ serverId })],
    settings: { image_aliases: { base: TEST_IMAGE } },
  })
})
afterAll(() => server.stop())

const workspace = (name: string, action = '', method = 'GET') =>
  server.api(`workspaces/${name}${action}`, method)

async function create(body: object = {}): Promise<string> {
  const name = uniqueName('ends')
  onTestFinished(() => removeLeftovers(name))
  const answer = await server.create({ name, ...body })
  expect(answer.body).toMatchObject({ name, status: 'running' })
  return name
}

const ENDS = [
  { how: 'is killed', status: 'stopped', end: (container: string) => docker('kill', container) },
  {
    how: 'crashes',
    status: 'error',
    says: 'its main process exited with status 131',
    // The container may end before the engine has reported the exec, which is then an error.
    end: (container: string) => run('docker', ['exec', '-u', '0', container, 'kill', '-QUIT', '1']),
  },
  {
    how: 'is removed',
    status: 'error',
    says: 'no longer has this workspace',
    end: (container: string) => docker('rm', '-f', container),
  },
  {
    how: 'is paused',
    status: 'error',
    says: 'paused',
    end: (container: string) => docker('pause', container),
  },
]

test.each(sample(ENDS, 2))(
  'a container that $how behind the server’s back is noticed',
  async ({ status, says, end }) => {
    const name = await create()
    const events = await readEventStream(`${server.url}/api/events`)
    await end(`ws-${name}`)
    // A container being removed is briefly reported as such.
    const isSeen = async () => {
      const { body } = await workspace(name)
      return body.status === status && (body.error_message ?? '').includes(says ?? '')
    }
    await waitFor(`the workspace to be ${status}`, isSeen)
    const changes = () =>
      events.events.map(({ data }) => data).filter((each) => each.workspace?.name === name)
    await expect.poll(() => changes().at(-1)).toMatchObject({ type: 'changed', workspace: { status } })
    expect((await workspace(name, '', 'DELETE')).status).toBe(204)
  },
)

test('a program that runs out of memory is logged, and its workspace keeps running', async () => {
  const name = await create({ memory_mb: 64 })
  await docker('exec', `ws-${name}`, 'sh', '-c', 'head -c 200m /dev/zero | tail; true')
  await waitFor('the log', () =>
    server.log().includes(`"workspace":"${name}","msg":"a program in a workspace`),
  )
  expect((await workspace(name)).body.status).toBe('running')
  // The engine marks the container permanently; a requested stop is not an out-of-memory error.
  expect((await workspace(name, '/stop', 'POST')).body).toMatchObject({ status: 'stopped' })
  expect((await workspace(name, '/start', 'POST')).body).toMatchObject({ status: 'running' })
})

test('a workspace whose main process runs out of memory reports it', async () => {
  const name = await create({ memory_mb: 64 })
  // Nothing else makes the kernel choose the smallest process of all.
  const script = `for p in 1 $(pgrep -x sleep); do echo 1000 >/proc/$p/oom_score_adj; done
    for i in 1 2 3 4; do head -c 20m /dev/zero | tail | sleep 4 & done; sleep 4`
  await docker('exec', '-u', '0', `ws-${name}`, 'sh', '-c', script).catch(() => undefined)
  await waitFor('the end', async () => (await workspace(name)).body.status === 'error')
  const message = 'it was killed because it ran out of memory (memory_mb)'
  expect((await workspace(name)).body).toMatchObject({ status: 'error', error_message: message })
  // A server that was not running at the time finds out as well.
  server = await server.restart()
  expect((await workspace(name)).body).toMatchObject({ status: 'error', error_message: message })
  expect((await workspace(name, '/start', 'POST')).body).toMatchObject({ status: 'running' })
})

test('image aliases are resolved once, and the image is shown', async () => {
  const name = await create({ image: 'base' })
  expect((await workspace(name)).body).toMatchObject({ image: TEST_IMAGE })
  expect(await docker('inspect', '-f', '{{.Config.Image}}', `ws-${name}`)).toMatch(
    new RegExp(`(?:^|/)${TEST_IMAGE}$`),
  )
})
