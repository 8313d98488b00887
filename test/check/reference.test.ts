import { readdirSync, readFileSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SchemaNode } from '../../src/lib/config/check.ts'
import { environmentKeys } from '../../src/lib/config/environment.ts'
import { HTTP_CODES } from '../../src/lib/http/faults.ts'
import { STATUS_OF_KIND } from '../../src/lib/http/status.ts'
import { packageRoot } from '../../src/lib/process/package.ts'
import { AUDIT_ACTIONS } from '../../src/workspace/audit/audit-log.ts'
import { InsideDirs } from '../../src/workspace/backend/docker/inside-dirs.ts'
import { workspaceSchema } from '../../src/workspace/config.ts'
import { WORKSPACE_CODES } from '../../src/workspace/errors.ts'
import { createWorkspaceProgram } from '../../src/workspace/faces/cli/main.ts'
import { cliSchema } from '../../src/workspace/faces/cli/servers.ts'
import { insideRoot } from '../../src/workspace/state-dir.ts'
import { FakeBackend } from '../support/fake-backend.ts'
import { call, startWorkspaceServer, type TestServer } from '../support/workspace-server.ts'

const page = readFileSync(join(packageRoot, 'docs/workspace.md'), 'utf8')

/** The cells of the table whose first heading is `heading`. */
function table(heading: string): readonly (readonly string[])[] {
  const lines = page.split('\n')
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`))
  expect(start, `a table headed "${heading}"`).toBeGreaterThan(0)
  const rows: string[][] = []
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith('|')) break
    rows.push(
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  }
  return rows
}

function spans(cell = ''): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text ?? '')
}

const sorted = (words: Iterable<string>): readonly string[] => [...new Set(words)].toSorted()

/** Every key of a schema, with names of the user's own as `<name>`. */
function keys(node: SchemaNode, path: readonly string[] = []): readonly string[] {
  const { properties, additionalProperties } = node
  if (properties) return Object.entries(properties).flatMap(([key, child]) => keys(child, [...path, key]))
  return typeof additionalProperties === 'object' && additionalProperties.properties
    ? keys(additionalProperties, [...path, '<name>'])
    : [path.join('.')]
}

function commands(command: Command, path: string): readonly (readonly [string, readonly string[]])[] {
  const words = command.registeredArguments.map((each) => {
    const name = each.name() + (each.variadic ? '...' : '')
    return each.required ? `<${name}>` : `[${name}]`
  })
  const flags = command.options.map((option) => option.flags)
  return [
    [[path, ...words].join(' '), flags],
    ...command.commands.flatMap((child) => commands(child, `${path} ${child.name()}`)),
  ]
}

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

  /** Served beside the API and so not in its description. */
  const beside = ['GET /openapi.json', 'GET /reference', 'GET /metrics']

  async function described() {
    const { body } = await call(`${server.url}/openapi.json`)
    return Object.entries(body.paths as Record<string, Record<string, { responses: object }>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { responses }]) => ({
          route: `${method.toUpperCase()} ${path}`,
          success: Object.keys(responses).filter((status) => /^[12]\d\d$/.test(status)),
        })),
    )
  }

  test('the page has every route and no other, with its status', async () => {
    const routes = await described()
    const inPage = table('Route').map(([route, success]) => ({ route: spans(route)[0], success: [success] }))
    const sort = (list: readonly { route: string | undefined }[]) =>
      list.toSorted((a, b) => String(a.route).localeCompare(String(b.route)))
    expect(sort(inPage)).toEqual(sort([...routes, ...beside.map((route) => ({ route, success: ['200'] }))]))
    for (const route of beside)
      expect((await fetch(server.url + route.slice('GET '.length))).status, route).toBe(200)
  })

  test('the page names no route in passing that is not there', async () => {
    const paths = (await described()).map(({ route }) => route.split(' ')[1])
    for (const [path] of page.matchAll(/\/api\/[a-z{}/-]+/g)) expect(paths).toContain(path)
  })

  test('the page has every metric and no other', async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text()
    const own = [...text.matchAll(/^# TYPE (\S+)/gm)]
      .map(([, name]) => name ?? '')
      .filter((name) => !/^(?:process|nodejs)_/.test(name))
    expect(sorted(table('Metric').flatMap(([name]) => spans(name)))).toEqual(sorted(own))
  })

  test('the page has every file of the state directory and no other', async () => {
    // Not made by the fake backend that this server has.
    await (await InsideDirs.keep(insideRoot(server.stateDir))).create('demo')
    let files: readonly string[] = []
    backend.before.set('started', () => {
      files = readdirSync(server.stateDir, { recursive: true, encoding: 'utf8' }).filter((file) =>
        statSync(join(server.stateDir, file)).isFile(),
      )
    })
    await call(`${server.url}/api/workspaces`, 'POST', { name: 'demo' })
    const inPage = table('File').flatMap(([file]) => spans(file))
    expect(sorted(inPage)).toEqual(sorted(files.map((file) => file.replace('demo', 'NAME'))))
  })
})

test('the page has every code and no other, with its status', () => {
  // The first two are answered by the HTTP parser, and the tunnel has a status of its own for the third.
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

test('the page has every configuration key with its variable and default, and no other', () => {
  const defaults = new Map<string, unknown>()
  const visit = (node: SchemaNode, path: readonly string[]): void => {
    defaults.set(path.join('.'), node.default)
    for (const [key, child] of Object.entries(node.properties ?? {})) visit(child, [...path, key])
  }
  visit(workspaceSchema, [])
  const there = keys(workspaceSchema).map((key) => {
    const value = defaults.get(key)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const shown = text === undefined ? '–' : `\`${text}\``
    const variable = variables.find(({ path }) => path.join('.') === key)?.variable
    return [
      `\`${key}\``,
      variable === undefined ? '–' : `\`${variable}\``,
      value === hostname() ? "the machine's name" : shown,
    ]
  })
  expect(table('Key').map((row) => row.slice(0, 3))).toEqual(there)
})

test("the page has every key of the command line's configuration, and no other", () => {
  const rows = page
    .split('\n')
    .filter((line) => /^\| `(?:servers|default_server)/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, 3)
        .map((cell) => cell.trim()),
    )
  const there = keys(cliSchema).map((key) => {
    const variable = cliVariables.find(({ path }) => path.join('.') === key)?.variable
    return [`\`${key}\``, variable === undefined ? '–' : `\`${variable}\``]
  })
  expect(rows).toEqual(there)
})

test('the page has every command with its options, and no other', () => {
  const inPage = table('Command').map(([command, options]) => [spans(command)[0], spans(options)])
  const everywhere = new Set(['--json', '--table'])
  const there = commands(program, 'workspace').map(([command, flags], index) => [
    command,
    index === 0 ? flags : flags.filter((flag) => !everywhere.has(flag)),
  ])
  expect(inPage).toEqual(there)
})

const fileVariables = ['WORKSPACE_CONFIG', 'WORKSPACE_CLI_CONFIG', 'WORKSPACE_URL', 'WORKSPACE_TOKEN_FILE']
const foreignVariables = [
  'DOCKER_HOST',
  'NO_COLOR',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'SSH_CONNECTION',
  'SSH_CLIENT',
]

test('the page names no code, variable, flag or key in passing that is not there', () => {
  const known = new Set([
    ...Object.keys(codes),
    ...[...variables, ...cliVariables].map(({ variable }) => variable),
    ...fileVariables,
    ...foreignVariables,
  ])
  const shouted = [...page.matchAll(/\b[A-Z]+(?:_+[A-Z]+)+\b/g)].map(([word]) => word)
  expect(sorted(shouted).filter((word) => !known.has(word))).toEqual([])

  const flags = commands(program, '').flatMap(([, each]) =>
    each.flatMap((flag) => flag.match(/--[a-z-]+/g) ?? []),
  )
  const named = [...page.matchAll(/(?<=[\s`])--[a-z][a-z-]*/g)].map(([flag]) => flag)
  expect(sorted(named).filter((flag) => !flags.includes(flag))).toEqual([])

  const dotted = spans(page).filter((span) => /^(?:http|ssh|docker|log)\.[a-z_.]+$/.test(span))
  const dottedKnown: readonly string[] = [...keys(workspaceSchema), ...AUDIT_ACTIONS]
  expect(sorted(dotted).filter((key) => !dottedKnown.includes(key))).toEqual([])
})

test('the page has every audited action and no other', () => {
  const row = page.split('\n').find((line) => line.startsWith('| `action` |'))
  expect(spans(row).slice(1)).toEqual(AUDIT_ACTIONS)
})

test('the codes that a route lists exist', () => {
  for (const [route, , own] of table('Route'))
    expect(
      spans(own).filter((code) => !(code in codes)),
      route,
    ).toEqual([])
})
