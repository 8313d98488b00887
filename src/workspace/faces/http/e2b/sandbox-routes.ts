import { randomBytes } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import {
  lifetimeOf,
  listQuerySchema,
  metricToWire,
  newSandboxSchema,
  pauseBodySchema,
  SANDBOX_LABEL,
  sandboxFromWire,
  sandboxInfoToWire,
  sandboxToWire,
  timeoutBodySchema,
  unsupportedIn,
} from '../../../api/e2b.ts'
import { fault } from '../../../errors.ts'
import type { Workspace } from '../../../workspace.ts'
import { subjectOf } from '../audit-subject.ts'
import { HIDDEN, OWN_ADMISSION } from './connect-service.ts'
import { type E2bParts, getSandbox } from './sandbox-request.ts'

const PAGE = 100
const NAME_BYTES = 8

interface Numbered {
  readonly Params: { readonly id: string }
}
interface Timed extends Numbered {
  readonly Body: Static<typeof timeoutBodySchema> | null | undefined
}

/** Registers the routes that create, list and end sandboxes. */
export function sandboxRoutes(scope: FastifyInstance, { face, hosts, access }: E2bParts): void {
  const { config, table, lifecycle, editor, audit, usage } = face
  const options = { config: OWN_ADMISSION, schema: HIDDEN }
  const timed = { ...options, schema: { ...HIDDEN, body: { anyOf: [timeoutBodySchema, { type: 'null' }] } } }
  const grant = (workspace: Workspace, { headers }: FastifyRequest) => {
    const domain = hosts.apiDomain(headers.host) ?? hosts.domainFor(headers.host)
    return sandboxToWire(workspace, access.tokensOf(workspace), domain)
  }

  for (const path of ['/sandboxes', '/v2/sandboxes']) {
    scope.post<{ readonly Body: Static<typeof newSandboxSchema> }>(
      path,
      { ...options, schema: { ...HIDDEN, body: newSandboxSchema } },
      async (request, reply) => {
        const { body } = request
        const why = unsupportedIn(body)
        if (why !== undefined) throw fault('INVALID_REQUEST', why)
        // Old SDKs cut ids at hyphens, and host names ignore case.
        const name = `sb${randomBytes(NAME_BYTES).toString('hex')}`
        const input = sandboxFromWire(name, body, config.templates.has(body.templateID))
        const workspace = await audit.follow(subjectOf(request, 'workspace.create', name), async () =>
          (await lifecycle.prepareCreate(input)).make(() => undefined),
        )
        return reply.status(201).send(grant(workspace, request))
      },
    )

    scope.get<{ readonly Querystring: Static<typeof listQuerySchema> }>(
      path,
      { ...options, schema: { ...HIDDEN, querystring: listQuerySchema } },
      async (request, reply) => {
        const { query } = request
        const matching = sandboxesFor(table.list(), query)
        const start = /^\d{1,9}$/.test(query.nextToken ?? '') ? Number(query.nextToken) : 0
        const end = start + (query.limit ?? PAGE)
        if (end < matching.length) void reply.header('x-next-token', String(end))
        return matching.slice(start, end).map(sandboxInfoToWire)
      },
    )
  }

  scope.get<Numbered>('/sandboxes/:id', options, async ({ params }) =>
    sandboxInfoToWire(getSandbox(face, params.id)),
  )

  scope.get<Numbered>('/sandboxes/:id/metrics', options, async ({ params }) => {
    const workspace = getSandbox(face, params.id)
    const now = (await usage.read()).find(({ name }) => name === workspace.name)
    return now === undefined ? [] : [metricToWire(workspace, now)]
  })

  scope.delete<Numbered>('/sandboxes/:id', options, async (request, reply) => {
    const { name } = getSandbox(face, request.params.id)
    await audit.follow(subjectOf(request, 'workspace.delete', name), () => lifecycle.remove(name, false))
    return reply.status(204).send()
  })

  scope.post<Timed>('/sandboxes/:id/timeout', timed, async (request, reply) => {
    const { name } = getSandbox(face, request.params.id)
    const ttlS = lifetimeOf(request.body?.timeout)
    await audit.follow(subjectOf(request, 'workspace.set', name), () => editor.change(name, { ttlS }))
    return reply.status(204).send()
  })

  /** Starts a paused sandbox and extends its time. */
  const connect = async (request: FastifyRequest<Timed>): Promise<Workspace> => {
    const { name, state, expiry } = getSandbox(face, request.params.id)
    const isPaused = state.is === 'stopped' || state.is === 'suspended'
    if (isPaused) await audit.follow(subjectOf(request, 'workspace.start', name), () => lifecycle.start(name))
    const ttlS = lifetimeOf(request.body?.timeout)
    // A running sandbox never gets less time.
    if (isPaused || (expiry !== undefined && Date.now() + ttlS * 1_000 > expiry.at.getTime())) {
      const change = { ttlS, expireAction: expiry?.action ?? 'delete' } as const
      await audit.follow(subjectOf(request, 'workspace.set', name), () => editor.change(name, change))
    }
    return table.get(name)
  }
  for (const path of ['/sandboxes/:id/connect', '/v2/sandboxes/:id/connect', '/sandboxes/:id/resume'])
    scope.post<Timed>(path, timed, async (request) => grant(await connect(request), request))

  scope.post<Numbered & { readonly Body: Static<typeof pauseBodySchema> | null | undefined }>(
    '/sandboxes/:id/pause',
    { ...options, schema: { ...HIDDEN, body: { anyOf: [pauseBodySchema, { type: 'null' }] } } },
    async (request, reply) => {
      const { name, state } = getSandbox(face, request.params.id)
      if (state.is === 'stopped' || state.is === 'suspended')
        throw fault('WORKSPACE_ALREADY_STOPPED', `sandbox "${name}" is already paused`)
      const how = request.body?.memory === false ? 'stop' : 'suspend'
      await audit.follow(subjectOf(request, `workspace.${how}`, name), () => lifecycle[how](name))
      // A paused sandbox stays until it is connected to again.
      await editor.change(name, { ttlS: null })
      return reply.status(204).send()
    },
  )
}

/** Selects sandboxes by the query of a list, oldest first unless ordered otherwise. */
function sandboxesFor(
  all: readonly Workspace[],
  { state, metadata, template, startedAfter, order }: Static<typeof listQuerySchema>,
): readonly Workspace[] {
  const states = state?.split(',')
  // Keys and values are encoded twice.
  const wanted = [...new URLSearchParams(metadata)].map((pair) => pair.map(decode))
  const since = startedAfter === undefined ? 0 : Date.parse(startedAfter)
  const matching = all.filter((workspace) => {
    const { labels = {}, createdAt } = workspace
    return (
      Object.hasOwn(labels, SANDBOX_LABEL) &&
      (states === undefined || states.includes(sandboxInfoToWire(workspace).state)) &&
      (template === undefined || labels[SANDBOX_LABEL] === template) &&
      !(createdAt.getTime() < since) &&
      wanted.every(([key = '', value]) => Object.hasOwn(labels, key) && labels[key] === value)
    )
  })
  return order === 'desc' ? matching.toReversed() : matching
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
