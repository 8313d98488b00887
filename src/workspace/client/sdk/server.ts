import type { Static } from 'typebox'
import { ignore } from '../../../lib/errors/ignore.ts'
import type { importQuerySchema } from '../../api/archive.ts'
import type { CamelCase } from '../../api/camel-case.ts'
import type { createBodySchema } from '../../api/create.ts'
import type { WireChange, WireSnapshot } from '../../api/event.ts'
import type { infoSchema } from '../../api/info.ts'
import { ConnectionError, WorkspaceError } from './errors.ts'
import { type Archive, archiveData } from './files.ts'
import type { FollowOptions, RequestOptions, Transport } from './transport.ts'
import { pathOf, Workspace, type WorkspaceInfo } from './workspace.ts'

/** Information about a server. */
export type ServerInfo = CamelCase<Static<typeof infoSchema>>

/** Values of a new workspace. Aborting the signal cancels the creation and removes what it has created. */
export type CreateOptions = RequestOptions &
  CamelCase<Static<typeof createBodySchema>> & {
    /** Called with each step of the creation. */
    readonly onProgress?: ((message: string) => void) | undefined
  }

/** Values of an imported workspace that replace those of its archive. */
export type ImportOptions = RequestOptions & CamelCase<Static<typeof importQuerySchema>>

/** Selects workspaces that have all these labels; `true` accepts any value. */
export interface ListOptions extends RequestOptions {
  readonly labels?: Readonly<Record<string, string | true>> | undefined
}

/** All workspaces, at the start and after each lost connection, or a change of one. */
export type WorkspaceEvent = ({ readonly type: 'snapshot' } & CamelCase<WireSnapshot>) | CamelCase<WireChange>

/** A workspace server. */
export class WorkspaceServer {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Returns the server's name, version and available backends. */
  info(options: RequestOptions = {}): Promise<ServerInfo> {
    return this.#transport.ask('GET', '/api/info', options)
  }

  /** Lists workspaces, oldest first. */
  async list({ labels = {}, signal }: ListOptions = {}): Promise<readonly Workspace[]> {
    const label = Object.entries(labels).map(([key, value]) => (value === true ? key : `${key}=${value}`))
    const request = { query: { label }, signal }
    const answer = await this.#transport.ask<{ workspaces: WorkspaceInfo[] }>(
      'GET',
      '/api/workspaces',
      request,
    )
    return answer.workspaces.map((each) => new Workspace(this.#transport, each))
  }

  /** Returns the workspace with a name. */
  async get(name: string, options: RequestOptions = {}): Promise<Workspace> {
    return new Workspace(this.#transport, await this.#transport.ask('GET', pathOf(name), options))
  }

  /** Creates a workspace and resolves when it is running. */
  async create({ signal, onProgress, ...body }: CreateOptions): Promise<Workspace> {
    signal?.throwIfAborted()
    let canceling: Promise<void> | undefined
    // The request itself is not aborted: until the server has accepted it, the name may be another workspace's.
    const cancel = (): void => {
      canceling = this.#cancel(body.name)
      canceling.catch(ignore('it is awaited below, perhaps later'))
    }
    const accepted = (): void => {
      if (signal?.aborted === true) cancel()
      else signal?.addEventListener('abort', cancel, { once: true })
    }
    try {
      const events = this.#transport.events('POST', '/api/workspaces', { body }, accepted)
      for await (const { event, data } of events) {
        if (event === 'progress') onProgress?.((data as { message: string }).message)
        else if (event === 'complete') {
          await canceling
          signal?.throwIfAborted()
          return new Workspace(this.#transport, data as WorkspaceInfo)
        }
      }
      throw new ConnectionError(`the connection was lost while workspace "${body.name}" was created`)
    } catch (error) {
      await canceling
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', cancel)
    }
  }

  /** Creates a workspace from an archive and resolves when it is running. Aborting removes what was created. */
  async import(archive: Archive, { signal, ...query }: ImportOptions = {}): Promise<Workspace> {
    const request = { query, content: { data: archiveData(archive) }, signal }
    const info = await this.#transport.ask<WorkspaceInfo>('POST', '/api/workspaces/import', request)
    return new Workspace(this.#transport, info)
  }

  /** Yields all workspaces as `snapshot`, then every change. After a lost connection, it begins with a snapshot again. */
  async *events(options: FollowOptions = {}): AsyncGenerator<WorkspaceEvent, void, void> {
    const open = (onOpen: () => void) => this.#transport.events('GET', '/api/events', options, onOpen)
    for await (const { event, data } of this.#transport.follow(open, options)) {
      if (event === 'snapshot') yield { type: event, ...(data as CamelCase<WireSnapshot>) }
      else if (event === 'workspace') yield data as CamelCase<WireChange>
    }
  }

  async #cancel(name: string): Promise<void> {
    try {
      await this.#transport.ask('DELETE', pathOf(name))
    } catch (error) {
      // The creation failed first, and removed what it had created.
      if (!(error instanceof WorkspaceError && error.code === 'WORKSPACE_NOT_FOUND')) throw error
    }
  }
}
