import { expect, test } from 'vitest'
import type { FaultKind } from '../../src/lib/errors/fault.ts'
import { environmentKeys } from '../../src/lib/config/environment.ts'
import { HTTP_CODES } from '../../src/lib/http/faults.ts'
import { STATUS_OF_KIND } from '../../src/lib/http/status.ts'
import { contentSchema } from '../../src/content-server/config.ts'
import { CONTENT_CODES } from '../../src/content-server/errors.ts'
import { createContentProgram } from '../../src/content-server/faces/cli/main.ts'
import {
  commandsOf,
  describedRoutes,
  keysOf,
  namedInPassing,
  ownMetrics,
  ReferencePage,
  ROUTES_BESIDE,
  settingRows,
  sorted,
  spans,
} from '../support/reference-page.ts'
import { startContent } from '../support/content-server.ts'

const page = new ReferencePage('docs/content-server.md')
const codes: Readonly<Record<string, FaultKind>> = { ...HTTP_CODES, ...CONTENT_CODES }
const program = createContentProgram()

test('the page has every route and every metric, and no other', async () => {
  const { url } = await startContent({}, { settings: { http: { port: 0, open_metrics: true } } })
  const inPage = page.table('Route').map(([route, success, , ...rest]) => {
    expect(rest).toHaveLength(1)
    return `${spans(route)[0] ?? ''} ${success}`
  })
  const parameters = page
    .table('Route')
    .flatMap(([route, , cell]) => spans(cell).map((name) => `${spans(route)[0]} ${name}`))
  const there = await describedRoutes(url)
  expect(sorted(inPage)).toEqual(
    sorted([
      ...there.map(({ route, success }) => `${route} ${success.join(' ')}`),
      ...ROUTES_BESIDE.map((route) => `${route} 200`),
    ]),
  )
  expect(sorted(parameters)).toEqual(
    sorted(there.flatMap((each) => each.parameters.map((name) => `${each.route} ${name}`))),
  )
  expect(sorted(page.table('Metric').flatMap(([name]) => spans(name)))).toEqual(sorted(await ownMetrics(url)))
})

test('the page has every code and no other, with its status', () => {
  const others: Readonly<Record<string, string>> = { REQUEST_TIMEOUT: '408', REQUEST_TOO_LARGE: '413 or 431' }
  const inPage = page.table('Code').map(([code, status]) => [spans(code)[0], status])
  const there = Object.entries(codes).map(([code, kind]) => [
    code,
    others[code] ?? String(STATUS_OF_KIND[kind]),
  ])
  expect(Object.fromEntries(inPage)).toEqual(Object.fromEntries(there))
})

test('the page has every configuration key with its variable and default, and no other', () => {
  expect(page.table('Key').map((row) => row.slice(0, 3))).toEqual(settingRows('CONTENT', contentSchema))
})

test('the page has every command with its options, and no other', () => {
  const inPage = page
    .table('Command')
    .map(([command, options]) => [spans(command)[0], sorted(spans(options))])
  const everywhere = new Set(['--json', '--table'])
  const there = commandsOf(program, 'content-server').map(([command, flags], index) => [
    command,
    sorted(index === 0 ? flags : flags.filter((flag) => !everywhere.has(flag))),
  ])
  expect(inPage).toEqual(there)
})

test('the page names no code, variable, option or key in passing that is not there', () => {
  const known = new Set<string>([
    ...Object.keys(codes),
    ...environmentKeys('CONTENT', contentSchema).map(({ variable }) => variable),
    'CONTENT_CONFIG',
    'XDG_CONFIG_HOME',
    'XDG_DATA_HOME',
    'PUBLIC_URL',
  ])
  const { shouted, flags } = namedInPassing(page.text)
  expect(shouted.filter((word) => !known.has(word))).toEqual([])
  const there = commandsOf(program, '').flatMap(([, each]) =>
    each.flatMap((flag) => flag.match(/--[a-z-]+/g) ?? []),
  )
  expect(flags.filter((flag) => !there.includes(flag))).toEqual([])
  const dotted = spans(page.text).filter((span) =>
    /^(?:http|store|session|oidc|header_auth|cache|search|log)\.[a-z_.]+$/.test(span),
  )
  expect(dotted.filter((key) => !keysOf(contentSchema).includes(key))).toEqual([])
})
