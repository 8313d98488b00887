import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { docker, removeLeftovers, TEST_IMAGE, uniqueName } from '../../support/engine/docker.ts'
import { startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const wide = uniqueName('wide')
const narrow = uniqueName('narrow')

let service: Server
let port: number
let server: TestServer

beforeAll(async () => {
  service = createServer((connection) => connection.end('reached'))
  service.listen(0, '0.0.0.0')
  await once(service, 'listening')
  port = (service.address() as { port: number }).port
  server = await startWorkspaceServer({
    settings: { default_image: TEST_IMAGE, network: { allow_host_ports: [port], egress: 'internet' } },
  })
})
afterAll(async () => {
  for (const name of [wide, narrow]) await server.api(`workspaces/${name}`, 'DELETE')
  await server.stop()
  for (const name of [wide, narrow]) await removeLeftovers(name)
  service.close()
})

const networkOf = async (name: string) => (await server.api(`workspaces/${name}`)).body.network
const networks = async () => (await docker('network', 'ls', '--format', '{{.Name}}')).split('\n')

/** The response that a workspace gets from the service at its router's address, which is this host's. */
function ask(name: string): Promise<string> {
  const program =
    'open F, "/proc/net/route"; my ($hex) = map { (split)[1] eq "00000000" ? (split)[2] : () } <F>;' +
    'my $to = join ".", reverse unpack "C4", pack "H8", $hex;' +
    `my $s = IO::Socket::INET->new(PeerAddr => $to, PeerPort => ${port}, Timeout => 2); print $s ? <$s> : "nothing"`
  return docker('exec', `ws-${name}`, 'perl', '-MIO::Socket::INET', '-e', program)
}

test('N3 a workspace created with limits reaches less than others, even after a restart', async () => {
  const created = await Promise.all([
    server.create({ name: wide }),
    server.create({
      name: narrow,
      network: { allow_host_ports: [], egress: ['203.0.113.0/24'] },
    }),
  ])
  expect(created.map(({ status }) => status)).toEqual([201, 201])
  expect(await networkOf(wide)).toEqual({ isolated: true, allow_host_ports: [port], egress: 'internet' })
  const limited = { isolated: true, allow_host_ports: [], egress: ['203.0.113.0/24'] }
  expect(await networkOf(narrow)).toEqual(limited)
  expect([await ask(wide), await ask(narrow)]).toEqual(['reached', 'nothing'])

  server = await server.restart()
  expect(await networkOf(narrow)).toEqual(limited)
  await server.api(`workspaces/${narrow}/stop`, 'POST')
  await server.api(`workspaces/${narrow}/start`, 'POST')
  expect([await ask(wide), await ask(narrow)]).toEqual(['reached', 'nothing'])

  const before = await networks()
  await server.api(`workspaces/${narrow}`, 'DELETE')
  // The network for these limits was removed with the last workspace that had them.
  expect(before.length - (await networks()).length).toBe(1)
})

test.each([
  [{ egress: 'open' }, 'network.egress: "open" exceeds what the server allows'],
  [{ allow_host_ports: [1] }, 'does not open port 1'],
  [{ egres: 'none' }, 'egres'],
])('N2 a create request with %j is refused', async (network, message) => {
  const { status, body } = await server.create({
    name: uniqueName('more'),
    network,
  })
  expect(status).toBe(400)
  expect(body.error.message).toContain(message)
})
