import { fault } from '../errors.ts'
import { nameKey } from '../name.ts'
import type { Workspace } from '../workspace.ts'
import { ownerOf, type Ownership } from '../ownership.ts'
import type { User } from './user.ts'

/** Limits for the workspaces that a member owns together; undefined for none. */
export interface Quota {
  readonly workspaces?: number | undefined
  readonly cpus?: number | undefined
  readonly memoryMb?: number | undefined
  /** Idle time after which a workspace is stopped or suspended, regardless of its limit; 0 for none. */
  readonly idleMs?: number | undefined
}

/** The size of a workspace; 0 means no limit. */
export interface WorkspaceSize {
  readonly cpus: number
  readonly memoryMb: number
}

/** Sources of a workspace that belong to the server. */
interface WorkspaceSource {
  readonly localDir?: string | null | undefined
  readonly fromSnapshot?: string | null | undefined
}

/** Someone who creates workspaces: which names, from which sources, how many, and to whom they then belong. */
export class Creator {
  readonly #user: User | undefined
  readonly #isAdministrator: boolean
  readonly #quota: Quota
  readonly #table: { readonly list: () => readonly Workspace[] }

  constructor(
    user: User | undefined,
    isAdministrator: boolean,
    quota: Quota,
    table: { readonly list: () => readonly Workspace[] },
  ) {
    this.#user = user
    this.#isAdministrator = isAdministrator
    this.#quota = quota
    this.#table = table
  }

  /** Returns the ownership of a new workspace; undefined for one of the administrators. */
  get ownership(): Ownership | undefined {
    return this.#user && { owner: ownerOf(this.#user), shares: {} }
  }

  /**
   * Requires that a name begins with the user's own, so that a name that is taken reveals no workspace of others.
   *
   * @throws ACCESS_DENIED
   */
  checkName(name: string): void {
    if (this.#isAdministrator || this.#user === undefined) return
    const prefix = `${this.#user.name}-`
    if (nameKey(name).startsWith(prefix)) return
    throw fault(
      'ACCESS_DENIED',
      `the names of your workspaces begin with "${prefix}"; use "${prefix}${name.slice(0, 80)}"`,
    )
  }

  /** Requires that a request uses nothing of the server's that is not for members. @throws ACCESS_DENIED */
  checkSource({ localDir, fromSnapshot }: WorkspaceSource): void {
    if (this.#isAdministrator) return
    if (typeof localDir === 'string')
      throw fault('ACCESS_DENIED', 'only an administrator can mount a directory of the server (local_dir)')
    if (typeof fromSnapshot === 'string')
      throw fault('ACCESS_DENIED', 'only an administrator can create a workspace from a snapshot')
  }

  /**
   * Requires that new workspaces fit within the quota. Administrators have none.
   *
   * @throws QUOTA_EXCEEDED
   */
  checkQuota(wanted: readonly WorkspaceSize[]): void {
    const user = this.#user
    if (this.#isAdministrator || user === undefined) return
    const owned = this.#table.list().filter(({ ownership }) => ownership?.owner?.id === user.id)
    const { workspaces, cpus, memoryMb } = this.#quota
    if (workspaces !== undefined && owned.length + wanted.length > workspaces)
      throw fault(
        'QUOTA_EXCEEDED',
        `you own ${owned.length} of at most ${workspaces} workspaces; delete one, or ask an administrator`,
      )
    checkSum('cpus', cpus, owned, wanted)
    checkSum('memoryMb', memoryMb, owned, wanted)
  }
}

const LIMITS = { cpus: 'CPUs (cpus)', memoryMb: 'MiB of memory (memory_mb)' } as const

function checkSum(
  of: keyof typeof LIMITS,
  limit: number | undefined,
  owned: readonly WorkspaceSize[],
  wanted: readonly WorkspaceSize[],
): void {
  if (limit === undefined) return
  if (wanted.some((size) => size[of] === 0))
    throw fault(
      'QUOTA_EXCEEDED',
      `your workspaces may have ${limit} ${LIMITS[of]} together, so a new one requires a limit`,
    )
  const total = (sizes: readonly WorkspaceSize[]): number => sizes.reduce((sum, size) => sum + size[of], 0)
  if (total(owned) + total(wanted) <= limit) return
  throw fault(
    'QUOTA_EXCEEDED',
    `your workspaces have ${total(owned)} ${LIMITS[of]}, and may have ${limit} together; ${total(wanted)} more do not fit`,
  )
}
