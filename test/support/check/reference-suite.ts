import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { environmentKeys } from '../../../src/lib/config/environment.ts'
import type { FaultKind } from '../../../src/lib/errors/fault.ts'
import { HTTP_CODES } from '../../../src/lib/http/faults.ts'
import { STATUS_OF_KIND } from '../../../src/lib/http/status.ts'
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
} from './reference.ts'

/** A program, and everything its reference must name. */
export interface ReferencedProgram {
  readonly name: string
  /** Prefix of the environment variables of its configuration. */
  readonly prefix: string
  readonly schema: Parameters<typeof keysOf>[0]
  readonly codes: Readonly<Record<string, FaultKind>>
  readonly program: Command
  /** Starts a server that stops with the test. */
  readonly start: () => Promise<{ readonly url: string }>
  /** Further environment variables that the reference may name. */
  readonly variables: readonly string[]
}

/** Compares a program's reference, `docs/NAME/*.md`, with the program: it names everything, and nothing else. */
export function referenceSuite({ name, prefix, schema, program, start, ...more }: ReferencedProgram): void {
  const reference = new Reference(name)
  const codes: Readonly<Record<string, FaultKind>> = { ...HTTP_CODES, ...more.codes }

  test('the reference has every route and every metric, and no other', async () => {
    const { url } = await start()
    const inPage = reference.table('Route').map(([route, success, , ...rest]) => {
      expect(rest).toHaveLength(1)
      return `${spans(route)[0] ?? ''} ${success}`
    })
    const parameters = reference
      .table('Route')
      .flatMap(([route, , cell]) => spans(cell).map((parameter) => `${spans(route)[0]} ${parameter}`))
    const there = await describedRoutes(url)
    expect(sorted(inPage)).toEqual(
      sorted([
        ...there.map(({ route, success }) => `${route} ${success.join(' ')}`),
        ...ROUTES_BESIDE.map((route) => `${route} 200`),
      ]),
    )
    expect(sorted(parameters)).toEqual(
      sorted(there.flatMap((each) => each.parameters.map((parameter) => `${each.route} ${parameter}`))),
    )
    expect(sorted(reference.table('Metric').flatMap(([metric]) => spans(metric)))).toEqual(
      sorted(await ownMetrics(url)),
    )
  })

  test('the reference has every code and no other, with its status', () => {
    const others: Readonly<Record<string, string>> = {
      REQUEST_TIMEOUT: '408',
      REQUEST_TOO_LARGE: '413 or 431',
    }
    const inPage = reference.table('Code').map(([code, status]) => [spans(code)[0], status])
    const there = Object.entries(codes).map(([code, kind]) => [
      code,
      others[code] ?? String(STATUS_OF_KIND[kind]),
    ])
    expect(Object.fromEntries(inPage)).toEqual(Object.fromEntries(there))
  })

  test('the reference has every configuration key with its variable and default, and no other', () => {
    expect(reference.table('Key').map((row) => row.slice(0, 3))).toEqual(settingRows(prefix, schema))
  })

  test('the reference has every command with its options, and no other', () => {
    const inPage = reference
      .table('Command')
      .map(([command, options]) => [spans(command)[0], sorted(spans(options))])
    const everywhere = new Set(program.options.map(({ flags }) => flags))
    const there = commandsOf(program, name).map(([command, flags], index) => [
      command,
      sorted(index === 0 ? flags : flags.filter((flag) => !everywhere.has(flag))),
    ])
    expect(inPage).toEqual(there)
  })

  test('the reference names no code, variable, option or key in passing that is not there', () => {
    const known = new Set([
      ...Object.keys(codes),
      ...environmentKeys(prefix, schema).map(({ variable }) => variable),
      `${prefix}_CONFIG`,
      'XDG_CONFIG_HOME',
      ...more.variables,
    ])
    const { shouted, flags } = namedInPassing(reference.text)
    expect(shouted.filter((word) => !known.has(word))).toEqual([])
    const there = commandsOf(program, '').flatMap(([, each]) =>
      each.flatMap((flag) => flag.match(/--[a-z-]+/g) ?? []),
    )
    expect(flags.filter((flag) => !there.includes(flag))).toEqual([])
    const keys = keysOf(schema)
    const sections = new Set(keys.filter((key) => key.includes('.')).map((key) => key.split('.')[0]))
    const dotted = spans(reference.text).filter(
      (span) => /^[a-z_]+\.[a-z_.]+$/.test(span) && sections.has(span.split('.')[0]),
    )
    expect(dotted.filter((key) => !keys.includes(key))).toEqual([])
  })
}
