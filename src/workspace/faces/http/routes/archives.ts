import { PassThrough, Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'
import type { Static } from 'typebox'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { importQuerySchema } from '../../../api/archive.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import { exportWorkspace } from '../../../archive/export-workspace.ts'
import { importWorkspace } from '../../../archive/import-workspace.ts'
import { fault } from '../../../errors.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { subjectOf } from '../audit-subject.ts'
import { endUpload } from '../end-upload.ts'
import type { HttpFace } from '../face.ts'

const BINARY = 'application/octet-stream'
const BYTES = { type: 'string', format: 'binary' }

interface Named {
  readonly Params: { readonly name: string }
}

/** Registers the routes that export and import workspaces. */
export function archiveRoutes(
  { app }: HttpServer,
  { config, table, encode, lifecycle, entrance, audit, activity, gate, access }: HttpFace,
): void {
  app.get<Named>(
    '/api/workspaces/:name/export',
    {
      exposeHeadRoute: false,
      schema: {
        summary: 'Export the files and settings of a running workspace as an archive',
        description:
          'The response is a tar archive, compressed with gzip. If it breaks off, it is incomplete.',
        params: workspaceParams,
        response: { 200: { content: { [BINARY]: { schema: BYTES } } } },
      },
    },
    async (request, reply) => {
      const name = parseWorkspaceName(request.params.name)
      const subject = subjectOf(request, 'workspace.export', name)
      const { workspace, backend } = await entrance.enter(name, 'conflict')
      const end = activity.begin(workspace.name)
      reply.raw.once('close', end)
      const archive = await audit.followRefusal(subject, () =>
        exportWorkspace(backend, workspace, abortOnClose(reply)),
      )
      // The response waits for the last byte, and breaks off when the archive fails.
      const body = new PassThrough()
      const packing = pipeline(
        Readable.from(archive, { objectMode: false }),
        createGzip({ level: constants.Z_BEST_SPEED }),
        body,
      )
      audit
        .follow(subject, () => Promise.all([packing, finished(body)]))
        .catch((error: unknown) => {
          request.log.warn({ err: error, workspace: workspace.name }, 'an export is incomplete')
        })
      return reply
        .type(BINARY)
        .header('content-disposition', `attachment; filename="${workspace.name}.tar.gz"`)
        .send(body)
    },
  )

  // In a separate scope: no other route accepts binary bodies of this length.
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    // `curl -T` sends no type.
    scope.addContentTypeParser('*', ({ headers }, body, parsed) =>
      (headers['content-type'] ?? BINARY) === BINARY ? parsed(null, body) : parsed(bodyFault()),
    )
    scope.post<{
      readonly Querystring: Static<typeof importQuerySchema>
      readonly Body: Readable | undefined
    }>(
      '/api/workspaces/import',
      {
        config: { hasLongBody: true },
        schema: {
          summary: 'Create a workspace from an archive',
          description: `The body has the type ${BINARY}. Responds when the workspace is running and has all files.`,
          querystring: importQuerySchema,
          // Not validated: the body is a stream.
          body: { content: { [BINARY]: { schema: {} } } },
          response: { 201: Type.Ref('Workspace') },
        },
      },
      async (request, reply) => {
        const { body, query } = request
        const subject = subjectOf(request, 'workspace.import', query.name ?? '')
        const context = {
          table,
          lifecycle,
          defaultBackend: config.defaultBackend,
          maxBytes: config.importMaxBytes,
        }
        const gone = abortOnClose(reply)
        endUpload(request, reply)
        const workspace = await audit.follow(subject, async () => {
          const creator = access.creatorOf(gate.principalOf(request.raw))
          if (body === undefined) throw bodyFault()
          return importWorkspace({ ...context, creator }, body.pipe(new PassThrough()), query, gone)
        })
        return reply.status(201).send(encode(workspace))
      },
    )
    done()
  })
}

function bodyFault() {
  return fault('INVALID_REQUEST', `an import requires a body of type ${BINARY}: an archive of a workspace`)
}
