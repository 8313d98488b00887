import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import { Type } from '../../../../lib/schema/type.ts'
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
import { fault } from '../../../errors.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import { parseFlag } from '../parse-flag.ts'
import { streamProgress, wantsEvents } from '../stream-progress.ts'

const failures = { '4xx': Type.Ref('Error'), '5xx': Type.Ref('Error') }
const PROGRESS =
  'With `Accept: text/event-stream` answers at once with a stream of `progress` events and a last `complete` (the answer) or ' +
  '`error` (`{code, message}`).'

/** What everything takes on disk, and less of it. */
export function systemRoutes(server: HttpServer, face: HttpFace): void {
  const { app } = server
  const { config, disk, pruner, compactor, audit } = face

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
        summary: 'Disk usage: logical (apparent) and physical (allocated) bytes',
        description: PROGRESS,
        querystring: diskQuerySchema,
        response: { 200: diskReportSchema, ...failures },
      },
    },
    async (request, reply) => {
      if (parseFlag('cached', request.query.cached)) return diskReportToWire(config, await disk.cached())
      return answer(request.headers.accept, reply, 'measuring', async (progress) => {
        const onSeen = (entries: number): void => progress(`${entries} files and directories seen`)
        return diskReportToWire(config, await disk.report({ onSeen }))
      })
    },
  )

  app.post<{ Querystring: SystemPruneQuery }>(
    '/api/system/prune',
    {
      schema: {
        summary: 'Delete what nothing needs, or with dry_run tell what that would be',
        description: PROGRESS,
        querystring: systemPruneQuerySchema,
        response: { 200: pruneReportSchema, ...failures },
      },
    },
    async (request, reply) => {
      const { query } = request
      const isDryRun = parseFlag('dry_run', query.dry_run)
      const wanted = pruneRequestFromWire(query)
      const { plan_id: planId } = query
      if (planId !== undefined && isDryRun)
        throw fault('INVALID_REQUEST', 'plan_id applies a plan and dry_run makes one: send one of them')
      return answer(request.headers.accept, reply, 'pruning', async (progress) => {
        if (isDryRun) return pruneReportToWire(config.name, await pruner.plan(wanted))
        return audit.follow(subjectOf(request, 'system.prune', ''), async () => {
          const done = await (planId === undefined
            ? pruner.apply(wanted, progress)
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
        summary: 'Give back what guests have freed on the disks of stopped virtual machines',
        description: PROGRESS,
        querystring: compactQuerySchema,
        response: { 200: compactReportSchema, ...failures },
      },
    },
    async (request, reply) => {
      const { name = [] } = request.query
      const names = typeof name === 'string' ? [name] : name
      const subject = subjectOf(request, 'system.compact', names.join(' '))
      return answer(request.headers.accept, reply, 'compacting', (progress) =>
        audit.follow(subject, async () =>
          compactReportToWire(config.name, await compactor.compact(names, progress)),
        ),
      )
    },
  )
}
