import { posix } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { BusboyInstance } from '@fastify/busboy'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import { fault } from '../../../errors.ts'
import { parsePath, WorkspaceFiles } from '../../../files/files.ts'
import { shownPath } from '../../../path-text.ts'
import { subjectOf } from '../audit-subject.ts'
import { receiveUpload } from '../end-upload.ts'
import type { HttpFace } from '../face.ts'
import type { SignedUse } from './access.ts'
import { HIDDEN, OWN_ADMISSION } from './connect-service.ts'
import { parseUser, type SandboxEntrance } from './sandbox-request.ts'

const BINARY = 'application/octet-stream'
const MULTIPART = 'multipart/form-data'
const MAX_FILES = 1_000

interface FileQuery {
  readonly Querystring: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** Registers the routes for the content of files in sandboxes, and for whether a sandbox runs. */
export function contentRoutes(scope: FastifyInstance, { audit }: HttpFace, entrance: SandboxEntrance): void {
  scope.get('/health', { config: OWN_ADMISSION, schema: HIDDEN }, async (request, reply) => {
    await entrance.enter(request)
    return reply.status(204).send()
  })

  scope.get<FileQuery>(
    '/files',
    { exposeHeadRoute: false, config: OWN_ADMISSION, schema: HIDDEN },
    async (request, reply) => {
      const place = await entrance.enter(request, signedUse(request, 'read'))
      const { path, username } = textsOf(request)
      const files = new WorkspaceFiles(place, abortOnClose(reply), parseUser(username))
      const content = await audit.follow(subjectOf(request, 'file.read', place.name), () =>
        files.read(parsePath(path ?? ''), { offset: 0, length: undefined }),
      )
      // A page of the workspace must not run in the server's origin.
      return reply.type(BINARY).header('content-disposition', 'attachment').send(content)
    },
  )

  // In a separate scope: no other route accepts such bodies.
  void scope.register((uploads, _options, done) => {
    uploads.removeAllContentTypeParsers()
    for (const type of [BINARY, MULTIPART])
      uploads.addContentTypeParser(type, (_request, body, parsed) => parsed(null, body))
    uploads.post<FileQuery & { readonly Body: Readable | undefined }>(
      '/files',
      { config: { ...OWN_ADMISSION, hasLongBody: true }, schema: HIDDEN },
      async (request, reply) => {
        const place = await entrance.enter(request, signedUse(request, 'write'))
        const { path, username } = textsOf(request)
        const gone = abortOnClose(reply)
        const files = new WorkspaceFiles(place, gone, parseUser(username))
        const write = async (to: string, content: Readable): Promise<void> => {
          const target = { path: parsePath(to), bytes: undefined, mode: undefined, createsParents: true }
          await audit.follow(subjectOf(request, 'file.write', place.name), () => files.write(target, content))
        }
        const written = await receiveUpload(request, reply, () => receive(request, path, { write, gone }))
        return written.map((to) => {
          const at = shownPath(parsePath(to))
          return { name: posix.basename(at), type: 'file', path: at }
        })
      },
    )
    done()
  })
}

/** Where the files of an upload go. */
interface Target {
  readonly write: (path: string, content: Readable) => Promise<void>
  /** Aborts when the client disconnects. */
  readonly gone: AbortSignal
}

/** Writes the file or files of a request, one after the other, and returns their paths. */
async function receive(
  { body, headers }: FastifyRequest<{ Body: Readable | undefined }>,
  path: string | undefined,
  target: Target,
): Promise<readonly string[]> {
  if (body === undefined)
    throw fault('INVALID_REQUEST', `an upload requires a body of type ${BINARY} or ${MULTIPART}`)
  // A failure must not destroy the connection, on which the client waits for the response.
  const content = body.pipe(headers['content-encoding'] === 'gzip' ? createGunzip() : new PassThrough())
  const type = headers['content-type'] ?? ''
  if (type.startsWith(MULTIPART)) return receiveParts(content, type, path, target)
  if (path === undefined) throw fault('INVALID_REQUEST', 'the path of the file is missing; send it as ?path=')
  const broken = Promise.withResolvers<never>()
  // Other errors are those of the writer, which reports why.
  content.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code?.startsWith('Z_') === true)
      broken.reject(fault('INVALID_REQUEST', 'the body is not compressed with gzip', error))
  })
  await Promise.race([target.write(path, content), broken.promise])
  return [path]
}

async function receiveParts(
  content: Readable,
  type: string,
  path: string | undefined,
  { write, gone }: Target,
): Promise<readonly string[]> {
  const written: string[] = []
  let last = Promise.resolve()
  const parts = await multipartParser(type)
  const over = Promise.withResolvers<void>()
  parts.on('file', (_field, part, name) => {
    // Absent in what is not a form of files.
    const to = path ?? name ?? ''
    written.push(to)
    part.on('error', () => undefined)
    last = last.then(() => write(to, part))
    last.catch(over.reject)
  })
  parts.on('filesLimit', () =>
    over.reject(fault('INVALID_REQUEST', `an upload has at most ${MAX_FILES} files; send several uploads`)),
  )
  const invalid = (cause: unknown): void =>
    over.reject(fault('INVALID_REQUEST', 'the multipart body is not valid or incomplete', cause))
  parts.on('error', invalid).on('finish', over.resolve)
  content.on('error', invalid).pipe(parts)
  gone.addEventListener('abort', () => over.reject(gone.reason), { once: true })
  await over.promise
  await last
  if (written.length === 0) throw fault('INVALID_REQUEST', 'the upload has no files')
  return written
}

async function multipartParser(type: string): Promise<BusboyInstance> {
  // Most servers never need it.
  const { Busboy } = await import('@fastify/busboy')
  try {
    return new Busboy({
      headers: { 'content-type': type },
      preservePath: true,
      limits: { files: MAX_FILES, fields: 0 },
    })
  } catch (error) {
    throw fault('INVALID_REQUEST', 'the multipart body has no boundary', error)
  }
}

function signedUse(request: FastifyRequest<FileQuery>, operation: SignedUse['operation']): SignedUse {
  const { path = '', username = '', signature, signature_expiration: expiration } = textsOf(request)
  if (expiration !== undefined && !/^\d{1,12}$/.test(expiration))
    throw fault('INVALID_REQUEST', 'signature_expiration must be seconds since 1970')
  return {
    path,
    operation,
    user: username,
    signature,
    expiration: expiration === undefined ? undefined : Number(expiration),
  }
}

/** Returns the query's parameters. @throws INVALID_REQUEST for repeated ones */
function textsOf({ query }: FastifyRequest<FileQuery>): Readonly<Record<string, string | undefined>> {
  for (const [name, value] of Object.entries(query))
    if (typeof value !== 'string') throw fault('INVALID_REQUEST', `the parameter "${name}" is repeated`)
  return query as Readonly<Record<string, string | undefined>>
}
