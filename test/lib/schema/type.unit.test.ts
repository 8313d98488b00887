import Library from 'typebox'
import { expect, it } from 'vitest'
import { Type } from '../../../src/lib/schema/type.ts'

type Builder = typeof Type

const schemas: readonly ((build: Builder) => object)[] = [
  (build) => build.String({ default: 'x', description: 'd' }),
  (build) => build.Integer({ minimum: 0 }),
  (build) => build.Boolean({ default: true }),
  (build) => build.Null(),
  (build) => build.Literal('deleted'),
  (build) => build.Enum(['a', 'b'], { default: 'a' }),
  (build) => build.Ref('Error'),
  (build) => build.Unsafe<number>({ type: 'string', format: 'duration' }),
  (build) => build.Array(build.Ref('Workspace'), { minItems: 1 }),
  (build) => build.Union([build.String(), build.Null()]),
  (build) => build.Record(build.String(), build.Integer(), { default: {} }),
  (build) => build.Record(build.String({ pattern: '^[a-z]+$' }), build.String()),
  (build) => build.Object({ a: build.Optional(build.Integer()) }),
  (build) =>
    build.Object(
      {
        a: build.String(),
        b: build.Optional(build.Object({ c: build.Boolean() })),
        c: build.Array(build.String()),
      },
      { $id: 'X', additionalProperties: false },
    ),
]

it.each(schemas.map((schema) => [JSON.stringify(schema(Library)), schema] as const))(
  'our builders create the same schema as TypeBox: %s',
  (json, schema) => {
    expect(JSON.parse(JSON.stringify(schema(Type)))).toEqual(JSON.parse(json))
  },
)
