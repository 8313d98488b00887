import type { Static } from 'typebox'
import { abortOnClose } from '../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../lib/http/server.ts'
import { Type } from '../../../lib/schema/type.ts'
import { ANALYSES, IMPACT_ROWS } from '../../choices.ts'
import { impactOf } from '../../query/impact/impact.ts'
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../../query/paging.ts'
import { DEFAULT_ROOTS } from '../../query/reach/given-roots.ts'
import type { AnalyzerFace } from './face.ts'

/** Enough for the changes of some ten thousand classes. */
const BODY_LIMIT_BYTES = 2 ** 25
const MAX_CHANGES = 200_000

const changeWord = Type.Enum(['added', 'removed', 'changed'] as const, {
  description: 'how it differs from the older version',
})
const line = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })

const body = Type.Object(
  {
    classes: Type.Optional(
      Type.Array(
        Type.Object(
          {
            classFqn: Type.String({ minLength: 1, maxLength: 65_535 }),
            change: changeWord,
            isHeaderChanged: Type.Boolean({
              description:
                'whether flags, supertypes or annotations differ, so that all members count as changed',
            }),
            members: Type.Array(
              Type.Object(
                {
                  name: Type.String({ minLength: 1, maxLength: 65_535 }),
                  descriptor: Type.Optional(
                    Type.String({ maxLength: 65_535, description: 'absent for all members with the name' }),
                  ),
                  change: changeWord,
                },
                { additionalProperties: false },
              ),
              { maxItems: MAX_CHANGES },
            ),
          },
          { additionalProperties: false },
        ),
        { maxItems: MAX_CHANGES, description: 'classes that differ' },
      ),
    ),
    files: Type.Optional(
      Type.Array(
        Type.Object(
          {
            path: Type.String({
              minLength: 1,
              maxLength: 4_096,
              description: 'relative to the project’s root',
            }),
            isRemoved: Type.Optional(Type.Boolean()),
            lines: Type.Optional(
              Type.Array(Type.Array(line, { minItems: 2, maxItems: 2 }), {
                maxItems: MAX_CHANGES,
                description:
                  'ranges of changed lines; n + 1 to n for lines removed after line n; absent for all',
              }),
            ),
          },
          { additionalProperties: false },
        ),
        { maxItems: MAX_CHANGES, description: 'source files that differ' },
      ),
    ),
    from: Type.Optional(
      Type.String({ default: DEFAULT_ROOTS, description: 'comma-separated entry points, as for reach' }),
    ),
    analysis: Type.Optional(
      Type.Enum(ANALYSES, { description: 'overrides that a call reaches, as for reach; default rta' }),
    ),
    includeLibraries: Type.Optional(
      Type.Boolean({ default: false, description: 'follow calls in libraries and the JDK too' }),
    ),
    of: Type.Optional(
      Type.Enum(IMPACT_ROWS, { description: 'list entry points and tests, or methods; default entry' }),
    ),
    page: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
    size: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: Number.MAX_SAFE_INTEGER,
        default: DEFAULT_PAGE_SIZE,
        description: 'a larger number counts as 10000',
      }),
    ),
  },
  { additionalProperties: false },
)

/** Adds the route that finds what can notice changes. */
export function impactRoutes({ app }: HttpServer, { analysis, searches, idle }: AnalyzerFace): void {
  const schema = { summary: 'Find entry points, tests and methods that can notice changes', body }
  app.post('/api/v1/impact', { schema, bodyLimit: BODY_LIMIT_BYTES }, (request, reply) => {
    idle.touch()
    const asked = request.body as Static<typeof body>
    const files = (asked.files ?? []).map(({ path, isRemoved, lines }) => ({
      path,
      isRemoved,
      lines: lines?.map(([from, to]) => [from ?? 0, to ?? 0] as const),
    }))
    const filter = {
      from: asked.from ?? DEFAULT_ROOTS,
      analysis: asked.analysis ?? 'rta',
      includeLibraries: asked.includeLibraries ?? false,
      of: asked.of ?? 'entry',
    } as const
    return impactOf(
      analysis.scan.snapshot,
      { classes: asked.classes ?? [], files },
      filter,
      { page: asked.page ?? 0, size: Math.min(asked.size ?? DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE) },
      (search) => searches.run(search, abortOnClose(reply)),
    )
  })
}
