import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'

/** Unparsed query parameters. */
export type RawQuery = Readonly<Record<string, string | readonly string[] | undefined>>

const described = (description: string) => Type.Optional(Type.Unsafe<string>({ description }))

/** Describes parameters as strings; they are parsed separately, so that an invalid one is INVALID_QUERY. */
export function querySchema(parameters: Readonly<Record<string, string>>) {
  return Type.Object(
    Object.fromEntries(Object.entries(parameters).map(([name, about]) => [name, described(about)])),
  )
}

/** Returns a parameter's value, or undefined. @throws INVALID_QUERY when it is given more than once */
export function textOf(query: RawQuery, name: string): string | undefined {
  const value = query[name]
  if (value === undefined || typeof value === 'string') return value
  throw fault('INVALID_QUERY', `"${name}" is given more than once`)
}

/** Parses a whole number within bounds. @throws INVALID_QUERY when it is not one */
export function numberOf(
  query: RawQuery,
  name: string,
  { least = 0, most }: { readonly least?: number; readonly most: number },
): number | undefined {
  const text = textOf(query, name)
  if (text === undefined || text === '') return undefined
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least && value <= most) return value
  throw fault(
    'INVALID_QUERY',
    `"${name}" must be a whole number from ${least} to ${most}, not "${text.slice(0, 100)}"`,
  )
}

/** Parses `true` or `false`. @throws INVALID_QUERY for other values */
export function flagOf(query: RawQuery, name: string): boolean {
  const text = textOf(query, name)
  if (text === undefined || text === '' || text === 'false') return false
  if (text === 'true') return true
  throw fault('INVALID_QUERY', `"${name}" must be true or false, not "${text.slice(0, 100)}"`)
}

/** Parses comma-separated names; undefined selects all. */
export function namesOf(query: RawQuery, name: string): readonly string[] | undefined {
  const names = [query[name] ?? []]
    .flat()
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '')
  return names.length === 0 ? undefined : names
}
