import type { Static } from 'typebox'
import { parseJson } from '../../../lib/schema/parse-json.ts'
import { Type } from '../../../lib/schema/type.ts'
import { fault } from '../../errors.ts'

const functions = Type.Optional(Type.Array(Type.String()))

/** Methods that databases add to a record, since the OSV format itself has no field for them. */
const specific = Type.Optional(
  Type.Object({
    /** GitHub Advisory Database. */
    affected_functions: functions,
    /** Go vulnerability database; `path` is a class or a package. */
    imports: Type.Optional(Type.Array(Type.Object({ path: Type.String(), symbols: functions }))),
    /** RustSec. */
    affects: Type.Optional(Type.Object({ functions })),
  }),
)

const record = Type.Object({
  id: Type.String(),
  affected: Type.Optional(
    Type.Array(
      Type.Object({
        package: Type.Optional(Type.Object({ ecosystem: Type.String() })),
        ecosystem_specific: specific,
        database_specific: specific,
      }),
    ),
  ),
})

/** A record, several, or the response of a query to an OSV server. */
const file = Type.Union([record, Type.Array(record), Type.Object({ vulns: Type.Array(record) })])

/** A vulnerability and its methods: `owner#method`, or a class. */
export interface Vulnerability {
  readonly id: string
  readonly targets: readonly string[]
}

/**
 * Parses the OSV records in a file. Only entries of the ecosystem Maven count; their versions are not
 * compared.
 *
 * @throws BAD_REQUEST when it is not in the OSV format
 */
export function parseOsv(text: string, path: string): readonly Vulnerability[] {
  const parsed = parseJson(file, text)
  if (parsed === undefined) throw fault('BAD_REQUEST', `${path} does not contain OSV records in JSON`)
  const records = Array.isArray(parsed) ? parsed : 'vulns' in parsed ? parsed.vulns : [parsed]
  return records.map(({ id, affected = [] }) => {
    const names = affected
      .filter((each) => each.package?.ecosystem === 'Maven')
      .flatMap((each) => [...namesIn(each.ecosystem_specific), ...namesIn(each.database_specific)])
    return { id, targets: [...new Set(names.map(targetOf))] }
  })
}

function namesIn(fields: Static<typeof specific> | undefined): readonly string[] {
  const imports = fields?.imports ?? []
  return [
    ...(fields?.affected_functions ?? []),
    ...(fields?.affects?.functions ?? []),
    ...imports.flatMap(({ path, symbols = [] }) =>
      symbols.length === 0 ? [path] : symbols.map((symbol) => `${path}.${symbol}`),
    ),
  ]
}

/**
 * Converts "a.B.method", "a.B::method", "a.B#method" and "a/B.method", with or without parameters, to
 * `a.B#method`. Without `#` or `::`, a last part that begins with a lowercase letter is a method, and one
 * that repeats the class name is a constructor.
 */
export function targetOf(written: string): string {
  const name = (written.split('(')[0] ?? '').trim().replaceAll('/', '.').replace('::', '#')
  if (name.includes('#')) return name
  const parts = name.split('.')
  const last = parts.at(-1) ?? ''
  const owner = parts.slice(0, -1).join('.')
  if (parts.length > 1 && last === parts.at(-2)) return `${owner}#<init>`
  return owner !== '' && /^(?:\p{Ll}|<init>)/u.test(last) ? `${owner}#${last}` : name
}
