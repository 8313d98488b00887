import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { docker, removeLeftovers, TEST_IMAGE, uniqueName } from '../../support/engine/docker.ts'
import { makeTempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startUpstream, type Upstream } from '../../support/workspace/server/egress-proxy.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const SECRET = 'never-inside-7f3a'
const name = uniqueName('agent')
const temporary = makeTempDir()
let upstream: Upstream
let server: TestServer

beforeAll(async () => {
  upstream = await startUpstream()
  const files = { ca: join(temporary.path, 'ca.pem'), secret: join(temporary.path, 'secret') }
  writeFileSync(files.ca, upstream.authority.certificate)
  writeFileSync(files.secret, SECRET)
  const to = { upstream: `https://localhost:${upstream.port}` }
  server = await startWorkspaceServer({
    settings: {
      default_image: TEST_IMAGE,
      audit: { file: join(temporary.path, 'audit.log') },
      egress: {
        ca_file: files.ca,
        secrets: { api: { file: files.secret } },
        profiles: {
          agents: {
            rules: [{ host: 'api.test', paths: ['/v1/**'], credential: { secret: 'api' }, ...to }],
            environment: { API_TOKEN: 'placeholder' },
          },
        },
      },
    },
  })
  const created = await server.create({
    name,
    network: { egress_profile: 'agents' },
  })
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
})
afterAll(async () => {
  await server.api(`workspaces/${name}`, 'DELETE')
  await server.stop()
  await upstream.close()
  await removeLeftovers(name)
  temporary.remove()
})

/** Runs a shell line as a program of the workspace would. */
const inside = async (line: string): Promise<string> => {
  const { body } = await server.api(`workspaces/${name}/exec`, 'POST', {
    argv: ['/bin/sh', '-c', line],
  })
  return `${body.stdout}${body.stderr}`
}
const request = (path = '/v1/x') =>
  inside(`curl -sS -m 10 -o /dev/null -w '%{http_code}' https://api.test${path} 2>&1`)
const egress = async () => (await server.api(`workspaces/${name}/egress`)).body

test('N4 a workspace reaches what its rules allow, with a credential that it never sees', async () => {
  expect(await request()).toBe('200')
  expect(await request('/v2/x')).toBe('403')
  expect(upstream.received.map(({ url, headers }) => [url, headers.authorization])).toEqual([
    ['/v1/x', `Bearer ${SECRET}`],
  ])
  expect(await inside('echo $API_TOKEN')).toBe('placeholder\n')
  const searched = await inside(
    `env | grep -c ${SECRET}; grep -rc ${SECRET} /etc /workspace 2>/dev/null | grep -v ':0$'`,
  )
  expect(searched).toBe('0\n')
  expect(await egress()).toMatchObject({
    profile: 'agents',
    open: true,
    requests: [
      { path: '/v1/x', outcome: 'allowed', status: 200, secret: 'api' },
      { path: '/v2/x', outcome: 'refused', reason: 'path' },
    ],
    suggested_rules: [{ host: 'api.test', methods: ['GET'], paths: ['/v2/x'] }],
  })
  const { body } = await server.api(`workspaces/${name}`)
  expect(body.network).toMatchObject({ egress: 'none', egress_profile: 'agents' })
})

test('the engine looks up no names for a workspace without a way out', async () => {
  expect(await docker('inspect', '-f', '{{.HostConfig.Dns}}', `ws-${name}`)).toBe('[192.0.2.1]')
})

test('programs that read only the system’s authorities trust the proxy', async () => {
  const bare =
    'env -u SSL_CERT_FILE -u CURL_CA_BUNDLE curl -sS -m 10 -o /dev/null -w "%{http_code}" https://api.test/v1/x 2>&1'
  expect(await inside(bare)).toBe('200')
})

test('each use of a credential and each refusal is an audit entry without the secret', async () => {
  await request()
  await request('/v2/x')
  const entries = () => readFileSync(join(temporary.path, 'audit.log'), 'utf8')
  await waitFor('the entries', () => entries().includes('egress.request'))
  expect(entries()).toContain('"action":"egress.credential"')
  expect(entries()).toContain('"target":"GET api.test","secret":"api"')
  expect(entries()).not.toContain(SECRET)
})

test(
  'the proxy is open again after a restart of the workspace, of its container and of the server',
  { tags: ['long'] },
  async () => {
    await server.api(`workspaces/${name}/stop`, 'POST')
    expect((await egress()).open).toBe(false)
    await server.api(`workspaces/${name}/start`, 'POST')
    expect(await request()).toBe('200')

    await docker('restart', '-t', '0', `ws-${name}`)
    await waitFor('the proxy', async () => (await request()) === '200')

    server = await server.restart()
    await waitFor('the proxy', async () => (await egress()).open)
    expect(await request()).toBe('200')
  },
)

test.each([
  [{ egress_profile: 'others' }, 'no profile "others" (its egress.profiles: agents)'],
  [{ egress_profile: 'agents', egress: 'open' }, 'mutually exclusive'],
])('a create request with %j is refused', async (network, message) => {
  const { status, body } = await server.create({
    name: uniqueName('no'),
    network,
  })
  expect(status).toBe(400)
  expect(body.error.message).toContain(message)
})
