import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import { abortOnClose } from '../../../../lib/http/abort-on-close.ts'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { diskQuerySchema, diskReportSchema, diskReportToWire } from '../../../api/disk.ts'
import {
  compactQuerySchema,
  compactReportSchema,
  compactReportToWire,
  pruneReportSchema,
  pruneReportToWire,
  pruneRequestFromWire,
  repeatedFromWire,
  type SystemPruneQuery,
  systemPruneQuerySchema,
} from '../../../api/prune.ts'
import { troublesSchema, troublesToWire } from '../../../api/trouble.ts'
import { fault } from '../../../errors.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { streamProgress, wantsEvents } from '../stream-progress.ts'

const PROGRESS =
  'With `Accept: text/event-stream` the response is a stream of `progress` events that ends with `complete` (the result) or ' +
  '`error` (`{code, message}`).'

/** Registers the routes that show disk usage and troubles of backends, and reclaim space. */
export function systemRoutes(server: HttpServer, face: HttpFace): void {
  const { app } = server
  const { config, disk, pruner, compactor, audit, lifecycle } = face

  const answer = async <T>(
    accept: string | undefined,
    reply: FastifyReply,
    what: string,
    work: (progress: (message: string) => void) => Promise<T>,
  ): Promise<unknown> =>
    wantsEvents(accept) ? streamProgress(server, reply, what, work) : reply.send(await work(() => undefined))

  app.get<{ Querystring: Static<typeof diskQuerySchema> }>(
    '/api/system/df',
    {
      schema: {
        summary: 'Show disk usage in logical (apparent) and physical (allocated) bytes',
        description: PROGRESS,
        querystring: diskQuerySchema,
        response: { 200: diskReportSchema },
      },
    },
    async (request, reply) => {
      if (request.query.cached === true) return diskReportToWire(config, await disk.cached())
      return answer(request.headers.accept, reply, 'measuring', async (progress) => {
        const onSeen = (entries: number): void => progress(`${entries} files and directories scanned`)
        return diskReportToWire(config, await disk.report({ onSeen, signal: abortOnClose(reply) }))
      })
    },
  )

  app.get(
    '/api/system/troubles',
    {
      schema: {
        summary: 'Show what backends cannot do at present, apart from requests',
        response: { 200: troublesSchema },
      },
    },
    () => troublesToWire(lifecycle.troubles.current),
  )

  app.post<{ Querystring: SystemPruneQuery }>(
    '/api/system/prune',
    {
      schema: {
        summary: 'Delete unused data, or plan it with dry_run',
        description: PROGRESS,
        querystring: systemPruneQuerySchema,
        response: { 200: pruneReportSchema },
      },
    },
    async (request, reply) => {
      const { query } = request
      const isDryRun = query.dry_run === true
      const pruneRequest = pruneRequestFromWire(query)
      const { plan_id: planId } = query
      if (planId !== undefined && isDryRun)
        throw fault(
          'INVALID_REQUEST',
          'plan_id and dry_run are mutually exclusive: dry_run creates a plan, plan_id applies one',
        )
      return answer(request.headers.accept, reply, 'pruning', async (progress) => {
        if (isDryRun) return pruneReportToWire(config.name, await pruner.plan(pruneRequest))
        return audit.follow(subjectOf(request, 'system.prune', ''), async () => {
          const done = await (planId === undefined
            ? pruner.apply(pruneRequest, progress)
            : pruner.applyPlan(planId, repeatedFromWire(query), progress))
          return pruneReportToWire(config.name, done)
        })
      })
    },
  )

  app.post<{ Querystring: Static<typeof compactQuerySchema> }>(
    '/api/system/compact',
    {
      schema: {
        summary: 'Reclaim space that guests have freed on the disks of stopped virtual machines',
        description: PROGRESS,
        querystring: compactQuerySchema,
        response: { 200: compactReportSchema },
      },
    },
    async (request, reply) => {
      const { name: names = [] } = request.query
      const subject = subjectOf(request, 'system.compact', names.join(' '))
      return answer(request.headers.accept, reply, 'compacting', (progress) =>
        audit.follow(subject, async () =>
          compactReportToWire(config.name, await compactor.compact(names, progress)),
        ),
      )
    },
  )
}
