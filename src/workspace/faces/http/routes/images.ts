import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import {
  backendQuerySchema,
  imageToWire,
  inspectQuerySchema,
  manifestSchema,
  manifestToWire,
  pruneQuerySchema,
  pullBodySchema,
  tagBodySchema,
} from '../../../api/image.ts'
import { imageSubjectOf, textIn } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { streamProgress, wantsEvents } from '../stream-progress.ts'

interface Named {
  readonly Params: { readonly name: string }
}

const image = Type.Ref('Image')

/** Registers the routes for images of all backends: list, inspect, pull, tag, delete, prune. */
export function imageRoutes(server: HttpServer, { images, audit }: HttpFace): void {
  const { app } = server
  app.get(
    '/api/images',
    {
      schema: {
        summary: 'List cached images and those named in the configuration',
        response: { 200: Type.Object({ images: Type.Array(image) }) },
      },
    },
    async () => ({ images: (await images.list()).map(imageToWire) }),
  )

  app.get<Named & { readonly Querystring: Static<typeof inspectQuerySchema> }>(
    '/api/images/inspect/:name',
    {
      schema: {
        summary: 'Inspect an image and its manifest',
        querystring: inspectQuerySchema,
        response: { 200: Type.Object({ image, manifest: manifestSchema }) },
      },
    },
    async ({ params, query }) => {
      const options = { backend: query.backend, verify: query.verify === true }
      const { image: found, facts } = await images.inspect(params.name, options)
      return { image: imageToWire(found), manifest: manifestToWire(facts) }
    },
  )

  app.post<{ Body: Static<typeof pullBodySchema> }>(
    '/api/images/pull',
    {
      attachValidation: true,
      schema: {
        summary: 'Pull a Docker image and, for VM backends, convert it to a bootable one',
        description:
          'Responds when the pull is complete. With `Accept: text/event-stream` the response is a stream of `progress` events ' +
          'that ends with `complete` (the result) or `error` (`{code, message}`).',
        body: pullBodySchema,
        response: { 200: Type.Object({ tag: Type.String(), digest: Type.String() }) },
      },
    },
    async (request, reply) => {
      const subject = imageSubjectOf(request, 'image.pull', textIn(request.body, 'docker_ref'))
      const prepare = async () => {
        const { docker_ref: dockerRef, tag = '', backend } = server.validBody(request)
        return images.preparePull({ dockerRef, tag, backend })
      }
      const pull = await audit.followRefusal(subject, prepare)
      const make: typeof pull.make = (progress) => audit.follow(subject, () => pull.make(progress))
      if (wantsEvents(request.headers.accept)) return streamProgress(server, reply, 'pulling the image', make)
      return reply.send(await make(() => undefined))
    },
  )

  app.post<{ Body: Static<typeof tagBodySchema> }>(
    '/api/images/tag',
    {
      attachValidation: true,
      schema: {
        summary: 'Tag an image',
        body: tagBodySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const subject = imageSubjectOf(request, 'image.tag', textIn(request.body, 'target'))
      await audit.follow(subject, async () => {
        const { source, target, backend } = server.validBody(request)
        await images.tag(source, target, backend)
      })
      return reply.status(204).send(null)
    },
  )

  app.delete<Named & { readonly Querystring: Static<typeof backendQuerySchema> }>(
    '/api/images/:name',
    {
      schema: {
        summary: 'Remove a tag, or delete an image by digest',
        querystring: backendQuerySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { name } = request.params
      const subject = imageSubjectOf(request, 'image.delete', name)
      await audit.follow(subject, async () => images.remove(name, request.query.backend))
      return reply.status(204).send(null)
    },
  )

  app.post<{ readonly Querystring: Static<typeof pruneQuerySchema> }>(
    '/api/images/prune',
    {
      schema: {
        summary: 'Delete unused VM images',
        querystring: pruneQuerySchema,
        response: { 200: Type.Object({ deleted: Type.Array(image) }) },
      },
    },
    async (request) => {
      const isDryRun = request.query.dry_run === true
      const prune = () => images.prune(isDryRun)
      const deleted = isDryRun
        ? await prune()
        : await audit.follow(imageSubjectOf(request, 'image.prune', ''), prune)
      return { deleted: deleted.map(imageToWire) }
    },
  )
}
