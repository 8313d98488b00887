import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { HttpServer } from '../../../../lib/http/server.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { parsePublicKey, type PublicKey } from '../../../../lib/ssh/public-key.ts'
import { workspaceParams } from '../../../api/parameters.ts'
import {
  accessBodySchema,
  accessSchema,
  accessToWire,
  keyBodySchema,
  keyQuerySchema,
  keyToWire,
  newTokenSchema,
  sharesFromWire,
  tokenBodySchema,
  tokenParams,
  tokenRequestFromWire,
  tokenToWire,
  userBodySchema,
  userChangeSchema,
  userParams,
  userToWire,
  wireKeySchema,
} from '../../../api/team.ts'
import type { AuditSubject } from '../../../audit/audit-log.ts'
import { fault } from '../../../errors.ts'
import { ownerOf } from '../../../ownership.ts'
import { parseWorkspaceName } from '../../../name.ts'
import type { Team } from '../../../team/team.ts'
import { SELF, type User } from '../../../team/user.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'

interface OfUser {
  readonly Params: { readonly user: string }
}
interface OfWorkspace {
  readonly Params: { readonly name: string }
}

const user = Type.Ref('User')

/** Registers the routes for users, their SSH keys and tokens, and for access to workspaces. */
export function teamRoutes({ app }: HttpServer, face: HttpFace): void {
  const { access, audit, gate, table, editor, clock } = face
  const withTeam = (): Team => {
    if (face.team !== undefined) return face.team
    throw fault('TEAM_DISABLED', 'this server has no users; set team.enabled in its configuration')
  }
  const selected = (request: FastifyRequest<OfUser>): User => {
    const team = withTeam()
    const { user: name } = request.params
    if (name !== SELF) return team.get(name)
    const self = access.userOf(gate.principalOf(request.raw))
    if (self !== undefined) return self
    throw fault('USER_NOT_FOUND', 'the server\'s token belongs to no user; name one instead of "me"')
  }
  const follow = <T>(
    request: FastifyRequest,
    action: AuditSubject['action'],
    name: string,
    work: () => Promise<T>,
  ): Promise<T> => audit.follow({ ...subjectOf(request, action, ''), subject: name }, work)
  const encode = (each: User) => userToWire(each, clock.wallMs())

  app.get(
    '/api/users',
    {
      schema: {
        summary: 'List users',
        response: { 200: Type.Object({ users: Type.Array(user) }) },
      },
    },
    () => ({ users: withTeam().users.map(encode) }),
  )

  app.post<{ Body: Static<typeof userBodySchema> }>(
    '/api/users',
    { schema: { summary: 'Create a user', body: userBodySchema, response: { 201: user } } },
    async (request, reply) => {
      const { name, role = 'member' } = request.body
      const team = withTeam()
      const added = await follow(request, 'user.add', name, () => team.add(name, role))
      return reply.status(201).send(encode(added))
    },
  )

  app.get<OfUser>(
    '/api/users/:user',
    { schema: { summary: 'Get a user', params: userParams, response: { 200: user } } },
    (request) => encode(selected(request)),
  )

  app.patch<OfUser & { readonly Body: Static<typeof userChangeSchema> }>(
    '/api/users/:user',
    {
      schema: {
        summary: 'Change the role of a user, or disable one',
        description: 'Takes effect at once, also on open connections and streams.',
        params: userParams,
        body: userChangeSchema,
        response: { 200: user },
      },
    },
    async (request) => {
      const { id, name } = selected(request)
      const { role, disabled: isDisabled } = request.body
      return encode(await follow(request, 'user.set', name, () => withTeam().set(id, { role, isDisabled })))
    },
  )

  app.delete<OfUser>(
    '/api/users/:user',
    {
      schema: {
        summary: 'Remove a user who owns no workspaces',
        params: userParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id, name } = selected(request)
      await follow(request, 'user.remove', name, async () => {
        const owned = table.list().filter(({ ownership }) => ownership?.owner?.id === id)
        if (owned.length > 0)
          throw fault(
            'USER_OWNS_WORKSPACES',
            `user "${name}" owns workspaces, such as "${owned[0]?.name}"; delete them or give them to another user, or disable the user`,
          )
        await withTeam().remove(id)
      })
      return reply.status(204).send(null)
    },
  )

  app.post<OfUser & { readonly Body: Static<typeof keyBodySchema> }>(
    '/api/users/:user/keys',
    {
      schema: {
        summary: 'Add an SSH key of a user',
        params: userParams,
        body: keyBodySchema,
        response: { 201: wireKeySchema },
      },
    },
    async (request, reply) => {
      const { id, name } = selected(request)
      const { name: keyName, public_key: line } = request.body
      const key = await follow(request, 'key.add', name, async () =>
        withTeam().addKey(id, keyName, validKey(line)),
      )
      return reply.status(201).send(keyToWire(key))
    },
  )

  app.delete<OfUser & { readonly Querystring: Static<typeof keyQuerySchema> }>(
    '/api/users/:user/keys',
    {
      schema: {
        summary: 'Remove an SSH key of a user',
        params: userParams,
        querystring: keyQuerySchema,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id, name } = selected(request)
      await follow(request, 'key.remove', name, () => withTeam().removeKey(id, request.query.fingerprint))
      return reply.status(204).send(null)
    },
  )

  app.post<OfUser & { readonly Body: Static<typeof tokenBodySchema> }>(
    '/api/users/:user/tokens',
    {
      schema: {
        summary: 'Create a personal token',
        params: userParams,
        body: tokenBodySchema,
        response: { 201: newTokenSchema },
      },
    },
    async (request, reply) => {
      const { id, name } = selected(request)
      const { token, secret } = await follow(request, 'token.create', name, () =>
        withTeam().addToken(id, tokenRequestFromWire(request.body)),
      )
      void reply.header('cache-control', 'no-store')
      return reply.status(201).send({ ...tokenToWire(token), secret })
    },
  )

  app.delete<{ readonly Params: OfUser['Params'] & { readonly id: string } }>(
    '/api/users/:user/tokens/:id',
    {
      schema: {
        summary: 'Revoke a personal token',
        params: tokenParams,
        response: { 204: Type.Null() },
      },
    },
    async (request, reply) => {
      const { id, name } = selected(request)
      await follow(request, 'token.revoke', name, () => withTeam().removeToken(id, request.params.id))
      return reply.status(204).send(null)
    },
  )

  app.get<OfWorkspace>(
    '/api/workspaces/:name/access',
    {
      schema: {
        summary: 'Show to whom a workspace belongs, and with whom it is shared',
        params: workspaceParams,
        response: { 200: accessSchema },
      },
    },
    (request) => {
      const { ownership } = table.get(parseWorkspaceName(request.params.name))
      return accessToWire(ownership, withTeam())
    },
  )

  app.put<OfWorkspace & { readonly Body: Static<typeof accessBodySchema> }>(
    '/api/workspaces/:name/access',
    {
      schema: {
        summary: 'Replace with whom a workspace is shared, or give it to another user',
        params: workspaceParams,
        body: accessBodySchema,
        response: { 200: accessSchema },
      },
    },
    async (request) => {
      const name = parseWorkspaceName(request.params.name)
      const team = withTeam()
      const principal = gate.principalOf(request.raw)
      const changed = await audit.follow(subjectOf(request, 'access.set', name), () =>
        editor.share(name, (before) => {
          const shares = sharesFromWire(request.body.shares, team)
          const { owner: given } = request.body
          const owner = given === undefined ? before?.owner : ownerOf(team.get(given))
          const isOwner = before?.owner !== undefined && before.owner.id === access.userOf(principal)?.id
          if (owner?.id !== before?.owner?.id && !isOwner) access.requireAdministrator(principal)
          return { owner, shares }
        }),
      )
      return accessToWire(changed.ownership, team)
    },
  )
}

function validKey(line: string): PublicKey {
  const key = parsePublicKey(line)
  if (typeof key !== 'string') return key
  throw fault('INVALID_REQUEST', `the key is not valid: ${key}; send the content of the .pub file`)
}
