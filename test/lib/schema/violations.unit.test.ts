import { Ajv } from 'ajv'
import { fc } from '../../support/fast-check.ts'
import { expect, it, test } from 'vitest'
import { type SchemaNode } from '../../../src/lib/config/check.ts'
import { violations, withDefaults } from '../../../src/lib/schema/violations.ts'
import { Type } from '../../../src/lib/schema/type.ts'
import { analyzerSchema } from '../../../src/analyzer/config.ts'
import { contentSchema } from '../../../src/content/config-schema.ts'
import { supervisorSchema } from '../../../src/supervisor/config-schema.ts'
import { workspaceSchema } from '../../../src/workspace/config.ts'
import { cliSchema } from '../../../src/workspace/client/find-server.ts'
import { rounds } from '../../support/rounds.ts'

const everyKeyword = Type.Object(
  {
    a: Type.String({ minLength: 2, maxLength: 3 }),
    b: Type.Optional(Type.Integer({ minimum: 0, maximum: 9, default: 4 })),
    c: Type.Union([Type.Object({ d: Type.Literal(1) }), Type.Null()]),
    e: Type.Array(Type.String({ pattern: '^[a-z]$' }), { minItems: 1, default: ['x'] }),
    f: Type.Record(Type.String(), Type.Integer(), { maxProperties: 1 }),
    g: Type.Optional(Type.Unsafe<number>({ type: 'number', exclusiveMinimum: 0 })),
    h: Type.Enum(['yes', 'no'], { default: 'no' }),
  },
  { additionalProperties: false },
) as SchemaNode

const schemas: Readonly<Record<string, SchemaNode>> = {
  'every keyword': everyKeyword,
  analyzer: analyzerSchema,
  content: contentSchema,
  supervisor: supervisorSchema,
  workspace: workspaceSchema,
  'the command line of workspace': cliSchema,
}

const formats = { duration: (text: string) => text.endsWith('s'), size: (text: string) => text.endsWith('B') }

const oddValue = fc.oneof(
  fc.constantFrom(
    null,
    '',
    'a',
    'ab',
    '👍👍',
    'yes',
    '5s',
    '5MiB',
    0,
    1,
    -1,
    0.5,
    70_000,
    true,
    [],
    {},
    ['a'],
    [1],
    { d: 1 },
  ),
  fc.anything(),
)

/** Generates values of a schema's structure, of which some leaves are invalid. */
function almost(schema: SchemaNode): fc.Arbitrary<unknown> {
  if (schema.properties !== undefined) {
    const inside = Object.entries(schema.properties).map(
      ([name, child]) => [name, fc.option(almost(child), { nil: undefined, freq: 2 })] as const,
    )
    const unknown = fc.option(fc.constant(1), { nil: undefined, freq: 1 })
    const record = fc.record({ ...Object.fromEntries(inside), unknown })
    const defined = record.map((value) =>
      Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)),
    )
    return fc.oneof({ weight: 9, arbitrary: defined }, { weight: 1, arbitrary: oddValue })
  }
  if (typeof schema.additionalProperties === 'object')
    return fc.dictionary(fc.constantFrom('one', 'two', 'a/b'), almost(schema.additionalProperties))
  if (schema.items !== undefined) return fc.oneof(fc.array(almost(schema.items), { maxLength: 2 }), oddValue)
  const right = [schema.default, ...(schema.enum ?? [])].filter((value) => value !== undefined)
  return fc.oneof(oddValue, ...right.map((value) => fc.constant(value)))
}

const jsonOf = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? 'null')

it.each(Object.entries(schemas))('the violations of a value are the same as Ajv’s: %s', (_name, schema) => {
  const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false, allowUnionTypes: true })
  for (const [name, isRight] of Object.entries(formats)) ajv.addFormat(name, isRight)
  const validate = ajv.compile(schema)
  fc.assert(
    fc.property(almost(schema), (value) => {
      const raw = jsonOf(value)
      const filled = withDefaults(schema, raw)
      const ours = [...violations(schema, filled, formats)]
      const theirs = structuredClone(raw)
      expect(ours.length === 0).toBe(validate(theirs))
      const said = (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`)
      const pointer = (path: readonly string[]) =>
        path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
      expect(said).toEqual(
        expect.arrayContaining(ours.map(({ path, keyword }) => `${pointer(path)} ${keyword}`)),
      )
      expect(filled).toEqual(theirs)
    }),
    { numRuns: rounds(60, 300) },
  )
})

test('each violation names the location and the requirement', () => {
  const value = { a: 'x', b: 10, c: {}, e: [1, 'A'], f: { n: '1' }, g: 0, h: 'maybe', i: 0 }
  const found = [...violations(everyKeyword, value)].map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  )
  expect(found).toEqual([
    'a: must NOT have fewer than 2 characters',
    'b: must be <= 9',
    'c: must match a schema in anyOf',
    'e.0: must be string',
    'e.1: must match pattern "^[a-z]$"',
    'f.n: must be integer',
    'g: must be > 0',
    'h: must be equal to one of the allowed values',
    ': i',
  ])
  expect([...violations({ type: ['string', 'integer'] }, true)].map(({ message }) => message)).toEqual([
    'must be string or integer',
  ])
})

test('an unknown keyword or format in a schema throws', () => {
  expect(() => [...violations({ multipleOf: 2 } as object, 1)]).toThrow('keyword "multipleOf"')
  expect(() => [...violations({ format: 'uri' }, 'x')]).toThrow('format "uri"')
})
