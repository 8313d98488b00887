import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { analyzerSchema } from '../../src/analyzer/config.ts'
import { ANALYZER_CODES, errorToWire } from '../../src/analyzer/errors.ts'
import { createAnalyzerProgram } from '../../src/analyzer/faces/cli/main.ts'
import { REFERENCE_KINDS } from '../../src/analyzer/choices.ts'
import { recordFile } from '../../src/analyzer/lifecycle/server-record.ts'
import { DEPENDENCY_TYPES } from '../../src/analyzer/query/graph/dependency-type.ts'
import { environmentKeys } from '../../src/lib/config/environment.ts'
import { SOURCE_ORIGINS } from '../../src/analyzer/source/archive/text-request.ts'
import { Fault, type FaultKind } from '../../src/lib/errors/fault.ts'
import { HTTP_CODES } from '../../src/lib/http/faults.ts'
import { projectOf, startAnalyzer, type TestAnalyzer } from '../support/analyzer/analyzer-server.ts'
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

const reference = new Reference('analyzer')
const codes: Readonly<Record<string, FaultKind>> = { ...HTTP_CODES, ...ANALYZER_CODES }
const program = createAnalyzerProgram()

describe('with a running server', () => {
  let analyzer: TestAnalyzer
  beforeAll(async () => {
    analyzer = await startAnalyzer(projectOf('demo'), { ANALYZER_SERVER__AUTH: 'none' })
  })
  afterAll(() => analyzer.stop())

  test('the reference has every route and no other, with its status and parameters', async () => {
    const inPage = reference.table('Route').map(([route, success, parameters]) => ({
      route: spans(route)[0] ?? '',
      success: [success],
      parameters: spans(parameters),
    }))
    const beside = ROUTES_BESIDE.map((route) => ({ route, success: ['200'], parameters: [] as string[] }))
    const there = [...(await describedRoutes(analyzer.url)), ...beside]
    const sort = <T extends { route: string }>(list: readonly T[]) =>
      list.toSorted((a, b) => (a.route < b.route ? -1 : 1))
    expect(sort(inPage)).toEqual(sort(there))
  })

  test('the reference has every metric and no other', async () => {
    const inPage = reference.table('Metric').flatMap(([name]) => spans(name))
    expect(sorted(inPage)).toEqual(sorted(await ownMetrics(analyzer.url)))
  })

  test('the reference has every state file of a server', () => {
    const record = recordFile(analyzer.root)
    const own = readdirSync(join(record, '..')).map((file) => file.replace(/^[\da-f]{24}/, 'PROJECT'))
    const inPage = reference.table('File').flatMap(([file]) => spans(file))
    // The log is created by the command that starts a server.
    expect(sorted(inPage)).toEqual(sorted([...own, 'PROJECT.log']))
  })
})

test('the reference has every code and no other, with its status and type', () => {
  const others: Readonly<Record<string, string>> = { REQUEST_TIMEOUT: '408', REQUEST_TOO_LARGE: '413 or 431' }
  const inPage = reference
    .table('Code')
    .map(([code, status, type]) => [spans(code)[0], [status, spans(type)[0]]])
  const there = Object.entries(codes).map(([code, kind]) => {
    const { code: status, type } = errorToWire(new Fault(code, kind, 'a message'))
    return [code, [others[code] ?? String(status), type]]
  })
  expect(Object.fromEntries(inPage)).toEqual(Object.fromEntries(there))
})

test('the reference has every configuration key with its variable and default, and no other', () => {
  expect(reference.table('Key').map((row) => row.slice(0, 3))).toEqual(
    settingRows('ANALYZER', analyzerSchema),
  )
})

test('the reference has every command with its options, and no other', () => {
  const inPage = reference
    .table('Command')
    .map(([command, options]) => [spans(command)[0], sorted(spans(options))])
  const everywhere = new Set(['--json', '--table', '-p, --project <dir>'])
  const there = commandsOf(program, 'analyzer').map(([command, flags], index) => [
    command,
    sorted(index === 0 ? flags : flags.filter((flag) => !everywhere.has(flag))),
  ])
  expect(inPage).toEqual(there)
})

test('every command accepts the global options', () => {
  const commands = commandsOf(program, 'analyzer').filter(([command]) => !command.includes('completion'))
  for (const [command, flags] of commands)
    expect(flags, command).toEqual(expect.arrayContaining(['-p, --project <dir>', '--json', '--table']))
})

test('the reference has every kind of reference and every type of dependency', () => {
  for (const kind of REFERENCE_KINDS) expect(spans(reference.text)).toContain(kind)
  for (const type of DEPENDENCY_TYPES) expect(spans(reference.text)).toContain(type)
})

test('the reference has every origin of a source', () => {
  for (const origin of SOURCE_ORIGINS) expect(spans(reference.text)).toContain(origin)
})

test('the reference mentions no missing code, variable, option or key', () => {
  const known = new Set<string>([
    ...Object.keys(codes),
    ...environmentKeys('ANALYZER', analyzerSchema).map(({ variable }) => variable),
    ...DEPENDENCY_TYPES,
    ...REFERENCE_KINDS,
    ...SOURCE_ORIGINS,
    'ANALYZER_CONFIG',
    'ANALYZER_READY',
    'ANALYZER_ERROR',
    'JAVA_HOME',
    'XDG_CACHE_HOME',
    'XDG_CONFIG_HOME',
    'XDG_RUNTIME_DIR',
  ])
  const { shouted, flags } = namedInPassing(reference.text)
  expect(shouted.filter((word) => !known.has(word))).toEqual([])
  const there = commandsOf(program, '').flatMap(([, each]) =>
    each.flatMap((flag) => flag.match(/--[a-z-]+/g) ?? []),
  )
  expect(flags.filter((flag) => !there.includes(flag))).toEqual([])
  const dotted = spans(reference.text).filter((span) => /^(?:server|log|source|lint)\.[a-z_.]+$/.test(span))
  expect(dotted.filter((key) => !keysOf(analyzerSchema).includes(key))).toEqual([])
})
