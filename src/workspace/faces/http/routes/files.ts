import { PassThrough, type Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import type { SseStream } from '../../../../lib/sse/sse-stream.ts'
import {
  directoryBodySchema,
  extractQuerySchema,
  fileChangeSchema,
  fileChangeToWire,
  fileListSchema,
  fileQuerySchema,
  fileToWire,
  moveBodySchema,
  pathFromWire,
  pathToWire,
  readQuerySchema,
  removeFileQuerySchema,
  watchQuerySchema,
  writeQuerySchema,
} from '../../../api/file.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import type { AuditSubject } from '../../../audit/audit-log.ts'
import { fault } from '../../../errors.ts'
import { type FileToWrite, parsePath, WorkspaceFiles } from '../../../files/files.ts'
import { type FileChange, watchDirectory } from '../../../files/watch.ts'
import { shownPath } from '../../../path-text.ts'
import { parseWorkspaceName } from '../../../name.ts'
import { subjectOf } from '../audit-subject.ts'
import { receiveUpload } from '../end-upload.ts'
import type { HttpFace } from '../face.ts'
import { keepPathBytes } from '../query-path.ts'
import { sendFailure } from '../stream-progress.ts'

const BINARY = 'application/octet-stream'
const BYTES = { type: 'string', format: 'binary' }

interface Named {
  readonly Params: { readonly name: string }
}

/** Registers the routes for files of workspaces. */
export function fileRoutes(server: HttpServer, face: HttpFace): void {
  void server.app.register((scope, _options, done) => {
    scope.addHook('preValidation', keepPathBytes)
    registerRoutes(server, scope, face)
    done()
  })
}

function registerRoutes(
  server: HttpServer,
  app: HttpServer['app'],
  { entrance, lifecycle, audit, activity }: HttpFace,
): void {
  /** Runs one operation on files, and records it under the given action. */
  const work = async <T>(
    request: FastifyRequest<Named>,
    reply: FastifyReply,
    action: Extract<AuditSubject['action'], `file.${string}`>,
    operation: (files: WorkspaceFiles) => Promise<T>,
  ): Promise<T> => {
    const name = parseWorkspaceName(request.params.name)
    const { workspace, backend } = await entrance.enter(name, 'conflict')
    const place = { backend, name: workspace.name, writes: lifecycle.writes }
    const files = new WorkspaceFiles(place, abortOnClose(reply))
    const end = activity.begin(workspace.name)
    reply.raw.once('close', end)
    return audit.follow(subjectOf(request, action, workspace.name), () => operation(files))
  }

  app.get<Named & { readonly Querystring: Static<typeof readQuerySchema> }>(
    '/api/workspaces/:name/files',
    {
      exposeHeadRoute: false,
      schema: {
        summary: 'Read a file of a running workspace',
        params: workspaceParams,
        querystring: readQuerySchema,
        response: { 200: { content: { [BINARY]: { schema: BYTES } } } },
      },
    },
    async (request, reply) => {
      const { offset = 0, length } = request.query
      const path = pathOf(request.query)
      const content = await work(request, reply, 'file.read', (files) => files.read(path, { offset, length }))
      // A page of the workspace must not run in the server's origin.
      return reply.type(BINARY).header('content-disposition', 'attachment').send(content)
    },
  )

  app.get<Named & { readonly Querystring: Static<typeof fileQuerySchema> }>(
    '/api/workspaces/:name/files/archive',
    {
      exposeHeadRoute: false,
      schema: {
        summary: 'Read a directory of a running workspace as a tar archive',
        description: 'If the response breaks off, a file could not be read.',
        params: workspaceParams,
        querystring: fileQuerySchema,
        response: { 200: { content: { [BINARY]: { schema: BYTES } } } },
      },
    },
    async (request, reply) => {
      const path = pathOf(request.query)
      const archive = await work(request, reply, 'file.read', (files) => files.readArchive(path))
      return reply.type(BINARY).header('content-disposition', 'attachment').send(archive)
    },
  )

  app.get<Named & { readonly Querystring: Static<typeof watchQuerySchema> }>(
    '/api/workspaces/:name/files/watch',
    {
      // A HEAD request would never end.
      exposeHeadRoute: false,
      schema: {
        summary: 'Watch a directory of a running workspace',
        description:
          'Server-sent events: `ready`, from which on changes are seen, then `change` for each of them, and `error` ' +
          '(`{code, message}`) when the directory can no longer be watched. It is listed twice a second.',
        params: workspaceParams,
        querystring: watchQuerySchema,
        response: {
          200: {
            description: 'data of `change` events',
            content: { 'text/event-stream': { schema: fileChangeSchema } },
          },
        },
      },
    },
    async (request, reply) => {
      const { recursive: isRecursive = false } = request.query
      const directory = { path: pathOf(request.query), isRecursive, user: undefined }
      const { workspace, backend } = await entrance.enter(parseWorkspaceName(request.params.name), 'conflict')
      activity.touch(workspace.name)
      const gone = abortOnClose(reply)
      const batches = watchDirectory(backend, workspace.name, directory, gone)
      await audit.follow(subjectOf(request, 'file.read', workspace.name), () => batches.next())
      await streamChanges(server.openStream(reply), reply, batches, gone)
      return reply
    },
  )

  // In a separate scope: no other route accepts binary bodies.
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    // `curl -T` sends no type.
    scope.addContentTypeParser('*', ({ headers }, body, parsed) =>
      (headers['content-type'] ?? BINARY) === BINARY ? parsed(null, body) : parsed(uploadFault()),
    )
    scope.put<Named & { readonly Querystring: Static<typeof writeQuerySchema>; readonly Body: Readable }>(
      '/api/workspaces/:name/files',
      {
        config: { hasLongBody: true },
        schema: {
          summary: 'Write a file of a running workspace',
          description: `The body has the type ${BINARY} and a Content-Length. The file is replaced as a whole, once all bytes have arrived.`,
          params: workspaceParams,
          querystring: writeQuerySchema,
          // Not validated: the body is a stream.
          body: { content: { [BINARY]: { schema: {} } } },
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        await receiveUpload(request, reply, () => {
          const target = targetOf(request)
          const content = request.body.pipe(new PassThrough())
          return work(request, reply, 'file.write', (files) => files.write(target, content))
        })
        return reply.status(204).send(null)
      },
    )
    scope.put<
      Named & {
        readonly Querystring: Static<typeof extractQuerySchema>
        readonly Body: Readable | undefined
      }
    >(
      '/api/workspaces/:name/files/archive',
      {
        config: { hasLongBody: true },
        schema: {
          summary: 'Extract a tar archive into a directory of a running workspace',
          description: `The body has the type ${BINARY}: an archive without compression. Files extracted before a failure remain.`,
          params: workspaceParams,
          querystring: extractQuerySchema,
          // Not validated: the body is a stream.
          body: { content: { [BINARY]: { schema: {} } } },
          response: { 204: Type.Null() },
        },
      },
      async (request, reply) => {
        const { body, query } = request
        await receiveUpload(request, reply, () => {
          const path = pathOf(query)
          if (body === undefined)
            throw fault('INVALID_REQUEST', `extracting requires a body of type ${BINARY}: a tar archive`)
          const archive = body.pipe(new PassThrough())
          return work(request, reply, 'file.write', (files) =>
            files.extractArchive(path, query.create_parents ?? false, archive),
          )
        })
        return reply.status(204).send(null)
      },
    )
    done()
  })

  app.delete<Named & { readonly Querystring: Static<typeof removeFileQuerySchema> }>(
    '/api/workspaces/:name/files',
    {
      schema: {
        summary: 'Remove a file or directory of a running workspace',
        params: workspaceParams,
        querystring: removeFileQuerySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { recursive = false } = request.query
      const path = pathOf(request.query)
      await work(request, reply, 'file.delete', (files) => files.remove(path, recursive))
      return reply.status(204).send(null)
    },
  )

  app.get<Named & { readonly Querystring: Static<typeof fileQuerySchema> }>(
    '/api/workspaces/:name/files/list',
    {
      schema: {
        summary: 'List a directory of a running workspace',
        params: workspaceParams,
        querystring: fileQuerySchema,
        response: { 200: fileListSchema },
      },
    },
    async (request, reply) => {
      const path = pathOf(request.query)
      const files = await work(request, reply, 'file.read', (each) => each.list(path))
      return { ...pathToWire(path), files: files.map(fileToWire) }
    },
  )

  app.get<Named & { readonly Querystring: Static<typeof fileQuerySchema> }>(
    '/api/workspaces/:name/files/stat',
    {
      schema: {
        summary: 'Get type, size, permissions and time of a file of a running workspace',
        params: workspaceParams,
        querystring: fileQuerySchema,
        response: { 200: Type.Ref('File') },
      },
    },
    async (request, reply) => {
      const path = pathOf(request.query)
      return fileToWire(await work(request, reply, 'file.read', (files) => files.stat(path)))
    },
  )

  app.post<Named & { readonly Body: Static<typeof directoryBodySchema> }>(
    '/api/workspaces/:name/files/directory',
    {
      schema: {
        summary: 'Create a directory and the missing ones above it in a running workspace',
        params: workspaceParams,
        body: directoryBodySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const path = pathOf(request.body)
      await work(request, reply, 'file.write', (files) => files.createDirectory(path))
      return reply.status(204).send(null)
    },
  )

  app.post<Named & { readonly Body: Static<typeof moveBodySchema> }>(
    '/api/workspaces/:name/files/move',
    {
      schema: {
        summary: 'Move or rename a file or directory of a running workspace',
        params: workspaceParams,
        body: moveBodySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { from, from_encoded: fromEncoded, to, to_encoded: toEncoded, overwrite = false } = request.body
      const source = parsePath(pathFromWire(from, fromEncoded, 'from'))
      const target = parsePath(pathFromWire(to, toEncoded, 'to'))
      await work(request, reply, 'file.write', (files) => files.move(source, target, overwrite))
      return reply.status(204).send(null)
    },
  )
}

/** Returns the absolute path of a request's file. @throws INVALID_REQUEST */
function pathOf({ path, path_encoded: encoded }: Static<typeof fileQuerySchema>): string {
  return parsePath(pathFromWire(path, encoded))
}

/** Returns the file that a request writes. @throws INVALID_REQUEST */
function targetOf(request: FastifyRequest<{ Querystring: Static<typeof writeQuerySchema> }>): FileToWrite {
  const { path: given, path_encoded: encoded, mode, create_parents: createsParents = false } = request.query
  const path = pathFromWire(given, encoded)
  if (path.endsWith('/'))
    throw fault('INVALID_REQUEST', `the path of a file must not end with "/": ${shownPath(path)}`)
  return {
    path: parsePath(path),
    bytes: lengthOf(request),
    mode: mode === undefined ? undefined : Number.parseInt(mode, 8),
    createsParents,
  }
}

/** @throws INVALID_REQUEST without a length, by which an incomplete upload is noticed */
function lengthOf({ headers, body }: FastifyRequest): number {
  const length = headers['content-length']
  if (length !== undefined && body !== undefined) return Number(length)
  throw uploadFault()
}

function uploadFault() {
  return fault('INVALID_REQUEST', `writing a file requires a body of type ${BINARY} with a Content-Length`)
}

/** Streams changes until the directory can no longer be watched, no faster than the reader reads them. */
async function streamChanges(
  stream: SseStream,
  reply: FastifyReply,
  batches: AsyncIterable<readonly FileChange[]>,
  gone: AbortSignal,
): Promise<void> {
  stream.send({}, 'ready')
  try {
    for await (const changes of batches)
      for (const change of changes) {
        stream.send(fileChangeToWire(change), 'change')
        await stream.waitForRoom()
      }
  } catch (error) {
    if (gone.aborted) return
    sendFailure(stream, reply, 'the watch failed', error)
  }
  stream.end()
}
