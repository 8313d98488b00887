import { Type } from '../../../lib/schema/type.ts'
import type { Static, TSchema } from 'typebox'
import { abortOnClose } from '../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../lib/http/server.ts'
import { formatFileView, formatProjectView, lintFileView, lintProjectView } from '../../lint/lint-views.ts'
import type { AnalyzerFace } from './face.ts'

const MAX_PATTERN = 1000

const filePath = Type.String({
  minLength: 1,
  maxLength: 4096,
  description: 'absolute, or relative to the project’s root',
})
const scope = {
  pattern: Type.Optional(
    Type.String({ minLength: 1, maxLength: MAX_PATTERN, description: 'only files that match this glob' }),
  ),
  includeTests: Type.Optional(Type.Boolean({ default: true, description: 'include test files' })),
}
const exact = { additionalProperties: false }

const lintFile = Type.Object({ filePath }, exact)
const lintProject = Type.Object(scope, exact)
const formatFile = Type.Object(
  {
    filePath,
    writeToFile: Type.Optional(Type.Boolean({ default: false, description: 'write the formatted file' })),
  },
  exact,
)
const formatProject = Type.Object(
  {
    ...scope,
    dryRun: Type.Optional(
      Type.Boolean({ default: false, description: 'report changes without writing files' }),
    ),
  },
  exact,
)

/**
 * Adds the routes that check and format source files. They need no compiled classes, and therefore no scan.
 */
export function lintRoutes({ app }: HttpServer, { lint, idle, projectPath }: AnalyzerFace): void {
  const add = <Body extends TSchema>(
    path: string,
    summary: string,
    body: Body,
    answer: (body: Static<Body>, signal: AbortSignal) => Promise<object>,
  ): void => {
    app.post(`/api/v1/linter${path}`, { schema: { summary, body } }, async (request, reply) => {
      idle.touch()
      try {
        return await answer(request.body as Static<Body>, abortOnClose(reply))
      } finally {
        idle.touch()
      }
    })
  }

  add('/lint/file', 'List style violations in a file', lintFile, async (body, signal) =>
    lintFileView(await lint.file(body.filePath, { writes: false, wanted: 'issues' }, signal)),
  )

  add('/lint/project', 'List style violations in the project', lintProject, async (body, signal) => {
    const startMs = performance.now()
    const found = await lint.project(scopeOf(body), { writes: false, wanted: 'issues' }, signal)
    return lintProjectView(projectPath, found, startMs)
  })

  add('/format/file', 'Format a file', formatFile, async (body, signal) => {
    const styleRequest = { writes: body.writeToFile === true, wanted: 'text' } as const
    return formatFileView(await lint.file(body.filePath, styleRequest, signal))
  })

  add('/format/project', 'Format the project', formatProject, async (body, signal) => {
    const startMs = performance.now()
    const dryRun = body.dryRun === true
    const styleRequest = dryRun
      ? ({ writes: false, wanted: 'diff' } as const)
      : ({ writes: true, wanted: 'issues' } as const)
    return formatProjectView(
      projectPath,
      await lint.project(scopeOf(body), styleRequest, signal),
      dryRun,
      startMs,
    )
  })
}

function scopeOf({
  pattern,
  includeTests = true,
}: {
  readonly pattern?: string
  readonly includeTests?: boolean
}) {
  return { pattern, includeTests }
}
