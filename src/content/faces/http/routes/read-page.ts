import type { HttpServer } from '../../../../lib/http/server.ts'
import { type Page as WirePage, pageQuerySchema, pageSchema } from '../../../api/pages.ts'
import type { CachedObject } from '../../../cache/object-cache.ts'
import { fault } from '../../../errors.ts'
import { isHtmlPage } from '../../../page/content-type.ts'
import { formatPath, parsePath, pathPartOf, type RequestPath } from '../../../page/request-path.ts'
import { readerOf } from '../admission.ts'
import type { ContentFace, Reader } from '../face.ts'
import { logRead } from '../log-reads.ts'

interface FoundPage {
  readonly path: RequestPath
  /** Undefined if it cannot be converted. */
  readonly object: CachedObject | undefined
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
      const plain = pathPartOf(request.query.path)
      const path = parsePath(plain)
      const reader = readerOf(request)
      const found = path && (await findPage(face, path, reader))
      if (path !== undefined)
        logRead(face, {
          reader,
          path: found?.path ?? path,
          method: 'GET',
          status: found?.object === undefined ? 404 : 200,
        })
      const address = JSON.stringify(plain.slice(0, 200))
      if (found === undefined) throw fault('PAGE_NOT_FOUND', `no page is published at ${address}`)
      if (found.object === undefined)
        throw fault(
          'PAGE_NOT_FOUND',
          `${address} has no Markdown: it is no HTML page, larger than "cache.max_object_bytes", or stored compressed; read it at its address`,
        )
      const { bytes } = await face.markdown.find(found.object)
      void reply.header('cache-control', 'private, no-cache')
      return { path: formatPath(found.path.segments, found.path.isDirectory), markdown: bytes.toString() }
    },
  )
}

/** Returns the page of a path, after redirects inside the site. */
async function findPage(
  { finder }: ContentFace,
  asked: RequestPath,
  { grants }: Reader,
): Promise<FoundPage | undefined> {
  const { path, page } = await finder.follow(asked, grants)
  if (page.is !== 'object' || page.isNotFound) return undefined
  const { object } = page
  return { path: page.markdownOf ?? path, object: isHtmlPage(object) ? object : undefined }
}
