import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { environmentKeys } from '../../src/lib/config/environment.ts'
import { PUBLISH_CODES } from '../../guest/agent/bus/publish-server.ts'
import { PROXY_CODES, PROXY_FLAGS } from '../../guest/cloud-credentials/proxy.ts'
import { HTTP_CODES } from '../../src/lib/http/faults.ts'
import { STATUS_OF_KIND } from '../../src/lib/http/status.ts'
import { AUDIT_ACTIONS } from '../../src/workspace/audit/audit-log.ts'
import { LOGIN_REFUSALS } from '../../src/workspace/faces/ssh/authenticate.ts'
import { MountedSocketDirs } from '../../src/workspace/backend/docker/exec/mounted-socket-dirs.ts'
import { NetworkRecords } from '../../src/workspace/backend/docker/network/network-records.ts'
import { PulledImages } from '../../src/workspace/backend/docker/images/pulled-images.ts'
import { workspaceSchema } from '../../src/workspace/config.ts'
import { CREDENTIAL_CODES } from '../../src/workspace/credentials/credentials.ts'
import { EGRESS_ENVIRONMENT } from '../../src/workspace/egress/trust.ts'
import { WORKSPACE_CODES } from '../../src/workspace/errors.ts'
import { createWorkspaceProgram } from '../../src/workspace/faces/cli/main.ts'
import { cliSchema } from '../../src/workspace/client/find-server.ts'
import { CLIENT_CODES } from '../../src/workspace/client/sdk/errors.ts'
import { mountedSocketRoot, NETWORKS_FILE } from '../../src/workspace/state-dir.ts'
import {
  commandsOf,
  describedRoutes,
  keysOf,
  namedInPassing,
  ownMetrics,
  Reference,
  ROUTES_BESIDE,
  settingRows,
  sorted,
  spans,
} from '../support/check/reference.ts'
import { FakeBackend } from '../support/workspace/backend/fake-backend.ts'
import { startWorkspaceServer, type TestServer } from '../support/workspace/server/test-server.ts'

const reference = new Reference('workspace')
const table = (heading: string) => reference.table(heading)
/** Routes of every page. */
const routeRows = () => reference.tables('Route').flat()

const program = createWorkspaceProgram()
const codes: Readonly<Record<string, keyof typeof STATUS_OF_KIND>> = { ...HTTP_CODES, ...WORKSPACE_CODES }
const variables = environmentKeys('WORKSPACE', workspaceSchema)
const cliVariables = environmentKeys('WORKSPACE_CLI', cliSchema)

describe('with a running server', () => {
  const backend = new FakeBackend()
  let server: TestServer
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterAll(() => server.stop())

  test('the reference has every route and no other, with its status', async () => {
    const routes = await describedRoutes(server.url)
    const inPage = routeRows().map(([route, success]) => ({ route: spans(route)[0], success: [success] }))
    const sort = (list: readonly { route: string | undefined }[]) =>
      list.toSorted((a, b) => String(a.route).localeCompare(String(b.route)))
    const there = routes.map(({ route, success }) => ({ route, success }))
    expect(sort(inPage)).toEqual(
      sort([...there, ...ROUTES_BESIDE.map((route) => ({ route, success: ['200'] }))]),
    )
    for (const route of ROUTES_BESIDE)
      expect((await fetch(server.url + route.slice('GET '.length))).status, route).toBe(200)
  })

  test('the reference mentions no missing route', async () => {
    const paths = (await describedRoutes(server.url)).map(({ route }) => route.split(' ')[1])
    // Examples use a workspace named demo.
    for (const [path] of reference.text
      .replaceAll('/workspaces/demo', '/workspaces/{name}')
      .matchAll(/\/api\/[a-z{*}/-]+/g))
      expect(paths).toContain(path)
  })

  test('the reference has every metric and no other', async () => {
    const own = await ownMetrics(server.url)
    expect(sorted(table('Metric').flatMap(([name]) => spans(name)))).toEqual(sorted(own))
  })

  test('the reference has every file of the state directory and no other', async () => {
    // Not created by this server's fake backend.
    await (await MountedSocketDirs.own(mountedSocketRoot(server.stateDir))).create('demo')
    for (const file of ['audit-sent', 'egress-key', 'schedule.json', 'team.json', 'team_keys'])
      writeFileSync(join(server.stateDir, file), '')
    await new PulledImages(join(server.stateDir, 'docker-images.json')).add('sha256:0', undefined)
    const subnet = { subnet: '10.214.0.0/22', gateway: '10.214.0.1' }
    await new NetworkRecords(join(server.stateDir, NETWORKS_FILE)).set('', subnet)
    let files: readonly string[] = []
    backend.before.set('started', () => {
      files = readdirSync(server.stateDir, { recursive: true, encoding: 'utf8' }).filter((file) =>
        statSync(join(server.stateDir, file)).isFile(),
      )
    })
    await server.create({ name: 'demo' })
    const inPage = table('File').flatMap(([file]) => spans(file))
    expect(sorted(inPage)).toEqual(sorted(files.map((file) => file.replace('demo', 'NAME'))))
  })
})

test('the reference has every code and no other, with its status', () => {
  // The HTTP parser responds to the first two, and the tunnel has a separate status for the third.
  const others: Readonly<Record<string, string>> = {
    REQUEST_TIMEOUT: '408',
    REQUEST_TOO_LARGE: '413 or 431',
    WORKSPACE_NOT_RUNNING: '409 or 503',
  }
  const inPage = table('Code').map(([code, status]) => [spans(code)[0], status])
  const there = Object.entries(codes).map(([code, kind]) => [
    code,
    others[code] ?? String(STATUS_OF_KIND[kind]),
  ])
  expect(Object.fromEntries(inPage)).toEqual(Object.fromEntries(there))
})

test('the reference has every configuration key with its variable and default, and no other', () => {
  const there = settingRows('WORKSPACE', workspaceSchema).map(([key, variable, value]) => [
    key,
    variable,
    value === `\`${hostname()}\`` ? "the machine's name" : value,
  ])
  expect(table('Key').map((row) => row.slice(0, 3))).toEqual(there)
})

test("the reference has every key of the command line's configuration, and no other", () => {
  const rows = reference.text
    .split('\n')
    .filter((line) => /^\| `(?:servers|default_server)/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, 3)
        .map((cell) => cell.trim()),
    )
  const there = keysOf(cliSchema).map((key) => {
    const variable = cliVariables.find(({ path }) => path.join('.') === key)?.variable
    return [`\`${key}\``, variable === undefined ? '–' : `\`${variable}\``]
  })
  expect(rows).toEqual(there)
})

test('the reference has every command with its options, and no other', () => {
  const inPage = table('Command').map(([command, options]) => [spans(command)[0], spans(options)])
  const everywhere = new Set(['--json', '--table'])
  const there = commandsOf(program, 'workspace').map(([command, flags], index) => [
    command,
    index === 0 ? flags : flags.filter((flag) => !everywhere.has(flag)),
  ])
  expect(inPage).toEqual(there)
})

const fileVariables = [
  'WORKSPACE_CONFIG',
  'WORKSPACE_CLI_CONFIG',
  'WORKSPACE_URL',
  'WORKSPACE_TOKEN_FILE',
  'WORKSPACE_BUS_TOKEN_FILE',
]
const foreignVariables = [
  'DOCKER_HOST',
  'NO_COLOR',
  'XDG_CONFIG_HOME',
  ...Object.keys(EGRESS_ENVIRONMENT),
  'GITHUB_TOKEN',
  'MODEL_API_KEY',
  'SECRET',
  'XDG_DATA_HOME',
  'XDG_RUNTIME_DIR',
  'SSH_CONNECTION',
  'SSH_TTY',
  'SSH_CLIENT',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_ENDPOINT_URL_STS',
  'CLOUD_CONTAINER_CREDENTIALS_FULL_URI',
]

test('the reference mentions no missing code, variable, flag or key', () => {
  const known = new Set([
    ...Object.keys(codes),
    ...Object.keys({ ...PUBLISH_CODES, ...PROXY_CODES, ...CREDENTIAL_CODES }),
    ...[...variables, ...cliVariables].map(({ variable }) => variable),
    ...fileVariables,
    ...foreignVariables,
    ...LOGIN_REFUSALS,
    ...Object.values<string>(CLIENT_CODES),
  ])
  const { shouted, flags: named } = namedInPassing(reference.text)
  expect(shouted.filter((word) => !known.has(word))).toEqual([])

  const inside = Object.keys(PROXY_FLAGS).map((name) => `--${name}`)
  const ofCommands = commandsOf(program, '').flatMap(([, each]) =>
    each.flatMap((flag) => flag.match(/--[a-z-]+/g) ?? []),
  )
  const flags: readonly string[] = [...ofCommands, ...inside]
  expect(named.filter((flag) => !flags.includes(flag))).toEqual([])

  const dotted = spans(reference.text).filter((span) => /^(?:http|ssh|docker|log)\.[a-z_.]+$/.test(span))
  const dottedKnown: readonly string[] = [...keysOf(workspaceSchema), ...AUDIT_ACTIONS]
  expect(sorted(dotted).filter((key) => !dottedKnown.includes(key))).toEqual([])
})

test('the reference has every audited action and no other', () => {
  const row = reference.text.split('\n').find((line) => line.startsWith('| `action` |'))
  expect(spans(row).slice(1)).toEqual(AUDIT_ACTIONS)
})

test('the codes that a route lists exist', () => {
  for (const [route, , own] of routeRows())
    expect(
      spans(own).filter((code) => !(code in codes)),
      route,
    ).toEqual([])
})
