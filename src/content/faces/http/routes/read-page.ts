import type { HttpServer } from '../../../../lib/http/server.ts'
import { type Page as WirePage, pageQuerySchema, pageSchema } from '../../../api/pages.ts'
import type { CachedObject } from '../../../cache/object-cache.ts'
import { fault } from '../../../errors.ts'
import { isHtmlPage } from '../../../page/content-type.ts'
import { formatPath, parsePath, type RequestPath } from '../../../page/request-path.ts'
import { readerOf } from '../admission.ts'
import type { ContentFace, Reader } from '../face.ts'
import { logRead } from '../log-reads.ts'

/** Redirects to follow; no site needs more. */
const MAX_REDIRECTS = 5

interface FoundPage {
  readonly path: RequestPath
  readonly object: CachedObject
}

/** Adds the route that returns a page as Markdown, for clients that know its path on the common host. */
export function readPageRoute({ app }: HttpServer, face: ContentFace): void {
  app.get<{ readonly Querystring: { readonly path: string } }>(
    '/_api/page',
    {
      config: { acceptsTokens: true },
      schema: {
        summary: 'Return a page as Markdown',
        querystring: pageQuerySchema,
        response: { 200: pageSchema },
      },
    },
    async (request, reply): Promise<WirePage> => {
      const [plain = ''] = /^[^?#]*/.exec(request.query.path) ?? []
      const path = parsePath(plain)
      const reader = readerOf(request)
      const found = path && (await findPage(face, path, reader))
      if (path !== undefined)
        logRead(face, {
          reader,
          path: found?.path ?? path,
          method: 'GET',
          status: found === undefined ? 404 : 200,
        })
      if (found === undefined)
        throw fault('PAGE_NOT_FOUND', `no page is published at ${JSON.stringify(plain.slice(0, 200))}`)
      const { bytes } = await face.markdown.find(found.object)
      void reply.header('cache-control', 'private, no-cache')
      return { path: formatPath(found.path.segments, found.path.isDirectory), markdown: bytes.toString() }
    },
  )
}

/** Returns the HTML page of a path, after redirects inside the site. */
async function findPage(
  face: ContentFace,
  path: RequestPath,
  reader: Reader,
  redirects = 0,
): Promise<FoundPage | undefined> {
  const page = await face.finder.find(path, reader.grants)
  if (page.is === 'object') {
    const { object, isNotFound, markdownOf } = page
    return isNotFound || !isHtmlPage(object) ? undefined : { path: markdownOf ?? path, object }
  }
  if (page.is !== 'redirect' || redirects === MAX_REDIRECTS) return undefined
  const [to = ''] = /^[^?#]*/.exec(page.to) ?? []
  const next = parsePath(to)
  return next && findPage(face, next, reader, redirects + 1)
}
