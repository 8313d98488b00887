import type { Static } from 'typebox'
import { abortOnClose } from '../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../lib/http/server.ts'
import { Type } from '../../../lib/schema/type.ts'
import { MAX_BASELINE_BYTES } from '../../query/rules/baseline.ts'
import { DEFAULT_PAGE_SIZE } from '../../query/paging.ts'
import { ruleSetSchema } from '../../query/rules/rule-set.ts'
import { rulesOf } from '../../query/rules/rules.ts'
import type { AnalyzerFace } from './face.ts'

/** The rules, and the characters that JSON escapes in a baseline. */
const BODY_LIMIT_BYTES = 2 * MAX_BASELINE_BYTES

const body = Type.Object(
  {
    rules: ruleSetSchema,
    baseline: Type.Optional(
      Type.String({
        maxLength: MAX_BASELINE_BYTES,
        description: 'text of the baseline: known violations, one per line',
      }),
    ),
    includeFrozen: Type.Optional(
      Type.Boolean({ default: false, description: 'list violations in the baseline too' }),
    ),
    page: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
    size: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: DEFAULT_PAGE_SIZE })),
  },
  { additionalProperties: false },
)

/** Adds the route that checks architecture rules. */
export function rulesRoutes({ app }: HttpServer, { analysis, searches, idle }: AnalyzerFace): void {
  const schema = { summary: 'Check the project against architecture rules', body }
  app.post('/api/v1/rules', { schema, bodyLimit: BODY_LIMIT_BYTES }, (request, reply) => {
    idle.touch()
    const {
      rules,
      baseline = '',
      includeFrozen = false,
      page = 0,
      size = DEFAULT_PAGE_SIZE,
    } = request.body as Static<typeof body>
    return rulesOf(analysis.scan.snapshot, { rules, baseline, includeFrozen }, { page, size }, (search) =>
      searches.run(search, abortOnClose(reply)),
    )
  })
}
