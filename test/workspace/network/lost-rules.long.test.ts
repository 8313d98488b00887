import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverChecks } from '../../../src/workspace/faces/cli/server-checks.ts'
import { docker, removeLeftovers, TEST_IMAGE, uniqueName } from '../../support/engine/docker.ts'
import { failingNft } from '../../support/failing-nft.ts'
import { makeTempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import {
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../support/workspace/server/test-server.ts'

const name = uniqueName('rules')
const WHAT = 'apply the network rules'

let service: Server
let server: TestServer
let table: string

/** The response that the workspace gets from the service at its router's address, which is this host's. */
function ask(): Promise<string> {
  const { port } = service.address() as { port: number }
  const program =
    'open F, "/proc/net/route"; my ($hex) = map { (split)[1] eq "00000000" ? (split)[2] : () } <F>;' +
    'my $to = join ".", reverse unpack "C4", pack "H8", $hex;' +
    `my $s = IO::Socket::INET->new(PeerAddr => $to, PeerPort => ${port}, Timeout => 2); print $s ? <$s> : "nothing"`
  return docker('exec', `ws-${name}`, 'perl', '-MIO::Socket::INET', '-e', program)
}

const state = makeTempDir()
const start = () => startWorkspaceServer({ stateDir: state.path, settings: { default_image: TEST_IMAGE } })
const nft = (...argv: readonly string[]) => execFileSync('/usr/sbin/nft', argv, { encoding: 'utf8' })
const tables = () => nft('list', 'tables', 'inet')

describe.runIf(process.getuid?.() === 0)('a running container whose rules are lost', () => {
  beforeAll(async () => {
    service = createServer((connection) => connection.end('reached'))
    service.listen(0, '0.0.0.0')
    await once(service, 'listening')
    server = await start()
    await makeWorkspace(server.url, { name })
    const network = await docker(
      'inspect',
      '-f',
      '{{range $n, $_ := .NetworkSettings.Networks}}{{$n}}{{end}}',
      `ws-${name}`,
    )
    const bridge = await docker(
      'network',
      'inspect',
      '-f',
      '{{index .Options "com.docker.network.bridge.name"}}',
      network,
    )
    table = `workspace_docker_${bridge.slice('wsdk'.length)}`
  })
  afterAll(async () => {
    await server.api(`workspaces/${name}`, 'DELETE')
    await server.stop()
    await removeLeftovers(name)
    service.close()
    state.remove()
  })

  test('N1 cannot reach this host: another program’s flush is undone', async () => {
    expect(tables()).toContain(table)
    nft('delete', 'table', 'inet', table)
    await waitFor('the rules', () => tables().includes(table))
    expect(await ask()).toBe('nothing')
    nft('flush', 'table', 'inet', table)
    await waitFor('the rules', () => nft('list', 'table', 'inet', table).includes('drop'))
    expect(await ask()).toBe('nothing')
  })

  test('N1 cannot reach this host when the rules cannot be applied, which an operator sees', async () => {
    const mend = failingNft()
    await server.stop()
    nft('delete', 'table', 'inet', table)
    server = await start()
    expect(await ask()).toBe('nothing')

    const { body } = await server.api('system/troubles')
    expect(body.troubles).toMatchObject([{ backend: 'docker', what: WHAT }])
    expect(body.troubles[0].message).toMatch(/planted failure.*cut off/)
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toContain(`workspace_backend_troubles_total{backend="docker",what="${WHAT}"}`)
    const lines = () =>
      server
        .log()
        .split('\n')
        .filter((line) => line.includes(`a backend cannot ${WHAT}`))
    expect(lines()).toHaveLength(1)
    expect(await serverChecks(server.stateDir)).toMatchObject([
      { ok: false, found: expect.stringContaining(WHAT) },
    ])
    const texts = async () =>
      (await server.api(`workspaces/${name}/timeline`)).body.entries.map(({ text }: { text: string }) => text)
    expect(await texts()).toContainEqual(expect.stringMatching(`the server cannot ${WHAT}.*cut off`))

    mend()
    await waitFor('the rules', () => tables().includes(table))
    await waitFor('the end of the trouble', async () => (await texts()).at(-1)?.includes('again') === true)
    expect(await serverChecks(server.stateDir)).toMatchObject([{ ok: true, found: 'no trouble' }])
    expect(await ask()).toBe('nothing')
    // It is connected again.
    expect(await docker('exec', `ws-${name}`, 'sh', '-c', 'cat /sys/class/net/eth0/carrier')).toBe('1')
  })
})
