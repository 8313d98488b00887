import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { checkUser } from '../../../arguments.ts'
import type { CodeContexts } from '../../../code/code-contexts.ts'
import { SANDBOX_LABEL } from '../../../api/e2b.ts'
import { fault } from '../../../errors.ts'
import type { FilesPlace } from '../../../files/files.ts'
import { isWorkspaceName } from '../../../name.ts'
import type { Workspace } from '../../../workspace.ts'
import { subjectOf } from '../audit-subject.ts'
import type { HttpFace } from '../face.ts'
import type { SandboxAccess, SignedUse } from './access.ts'
import type { E2bHosts } from './hosts.ts'

/** Dependencies of the routes for clients of E2B. */
export interface E2bParts {
  readonly face: HttpFace
  readonly hosts: E2bHosts
  readonly access: SandboxAccess
  readonly contexts: CodeContexts
}

/** Admission of a request beside the sandbox's token and the API key: a signature, or the token for ports. */
type Admission = SignedUse | 'traffic'

/** Whether a workspace is a sandbox. */
function isSandbox({ labels }: Workspace): boolean {
  return Object.hasOwn(labels ?? {}, SANDBOX_LABEL)
}

/** Whether the server itself answers requests to a host's port when nothing in the sandbox does. */
export function hasInterpreter(parts: E2bParts | undefined, { headers }: IncomingMessage): boolean {
  const id = parts?.hosts.interpreterOf(headers.host)
  if (parts === undefined || id === undefined) return false
  const workspace = parts.face.table.find(id)
  return workspace === undefined || isSandbox(workspace)
}

/** Returns the workspace of a sandbox. @throws WORKSPACE_NOT_FOUND for other workspaces too */
export function getSandbox({ table }: HttpFace, id: string): Workspace {
  const workspace = isWorkspaceName(id) ? table.find(id) : undefined
  if (workspace !== undefined && isSandbox(workspace)) return workspace
  throw fault('WORKSPACE_NOT_FOUND', `sandbox ${JSON.stringify(id.slice(0, 80))} does not exist`)
}

/** Finds sandboxes of requests that are for their inside, and admits these requests. */
export class SandboxEntrance {
  readonly #parts: E2bParts

  constructor(parts: E2bParts) {
    this.#parts = parts
  }

  /**
   * Returns the sandbox that a request names in its host or header.
   *
   * @throws UNAUTHORIZED, WORKSPACE_NOT_FOUND
   */
  admit(request: FastifyRequest, by?: Admission): Workspace {
    const { face, hosts, access } = this.#parts
    const { host, 'e2b-sandbox-id': header = '' } = request.headers
    const id = hosts.parsePort(host)?.workspace ?? String(header)
    if (id === '')
      throw fault('INVALID_REQUEST', 'the request names no sandbox: set E2B_SANDBOX_URL to this server')
    const workspace = getSandbox(face, id)
    if (by === 'traffic' && access.admitsTraffic(request.raw, workspace)) return workspace
    const signed = by === 'traffic' ? undefined : by
    face.audit.admission(subjectOf(request, 'api.refuse', workspace.name), () =>
      access.checkSandbox(request.raw, workspace, signed),
    )
    return workspace
  }

  /**
   * Admits a request like `admit`, and returns the place of its sandbox, which runs.
   *
   * @throws UNAUTHORIZED, WORKSPACE_NOT_FOUND, WORKSPACE_NOT_RUNNING
   */
  async enter(request: FastifyRequest, by?: Admission): Promise<FilesPlace> {
    const { face } = this.#parts
    const { name } = this.admit(request, by)
    const { backend } = await face.entrance.enter(name, 'unavailable')
    face.activity.touch(name)
    return { name, backend, writes: face.lifecycle.writes }
  }
}

/**
 * Returns the user of a request to a sandbox, whom the SDKs send as the name of a login without password.
 *
 * @throws INVALID_REQUEST for what cannot be a user
 */
export function userOf({ headers }: FastifyRequest): string | undefined {
  const [, encoded = ''] = /^Basic ([A-Za-z0-9+/=]{1,200})$/i.exec(headers.authorization ?? '') ?? []
  const [user = ''] = Buffer.from(encoded, 'base64').toString().split(':')
  return parseUser(user)
}

/** Returns a given user, or undefined for ''. @throws INVALID_REQUEST for what cannot be a user */
export function parseUser(text = ''): string | undefined {
  const user = text === '' ? undefined : text
  checkUser(user)
  return user
}
