import { fault } from '../errors.ts'
import { nameKey } from '../name.ts'
import type { Workspace } from '../workspace.ts'
import { type AccessLevel, includes, lower } from '../access-level.ts'
import { Creator, type Quota } from './creator.ts'
import { GROUP_PREFIX } from '../ownership.ts'
import type { Team } from './team.ts'
import type { PersonalToken, User } from './user.ts'

/**
 * Who acts: the holder of the server's token, or a user with a personal token or an SSH key. Names only what identifies
 * the user, so that every decision uses the current state.
 */
export type Principal =
  | { readonly is: 'server' }
  | { readonly is: 'token'; readonly userId: string; readonly tokenId: string }
  | { readonly is: 'key'; readonly userId: string; readonly fingerprint: string }

/** The holder of the server's token; everybody on a server without users. */
export const SERVER: Principal = { is: 'server' }

/** A user, and the token that limits what they may do; none for a key. */
interface Holder {
  readonly user: User
  readonly token?: PersonalToken
}

/** The workspaces among which decisions are made. */
export interface WorkspaceLookup {
  readonly find: (name: string) => Workspace | undefined
  readonly list: () => readonly Workspace[]
}

/**
 * Decides who may do what. On a server without users, everybody may do everything. What someone may not see is, to
 * them, the same as what does not exist.
 */
export class AccessControl {
  readonly #team: Team | undefined
  readonly #table: WorkspaceLookup
  readonly #quota: Quota

  /** @param team undefined for a server without users */
  constructor(team: Team | undefined, table: WorkspaceLookup, quota: Quota = {}) {
    this.#team = team
    this.#table = table
    this.#quota = quota
  }

  /** Returns whom a personal token identifies. */
  identify(secret: string): Principal | undefined {
    const found = this.#team?.findToken(secret)
    return found && { is: 'token', userId: found.user.id, tokenId: found.token.id }
  }

  /** Returns whom an SSH key identifies. On a server without users, that is everybody. */
  identifyKey(fingerprint: string): Principal | undefined {
    if (this.#team === undefined) return SERVER
    const user = this.#team.findKey(fingerprint)
    return user && { is: 'key', userId: user.id, fingerprint }
  }

  /** Whether someone's access still exists: neither the user nor the token or key has ended. */
  isCurrent(principal: Principal): boolean {
    return principal.is === 'server' || this.userOf(principal) !== undefined
  }

  /** Whether someone still has a level for a workspace. True if it no longer exists, which ends its connections. */
  hasLevel(principal: Principal, name: string, wanted: AccessLevel): boolean {
    const workspace = this.#table.find(name)
    if (workspace === undefined) return this.isCurrent(principal)
    const level = this.levelOf(principal, workspace)
    return level !== undefined && includes(level, wanted)
  }

  /** Returns the user; undefined for the server's token, and for someone whose access has ended. */
  userOf(principal: Principal): User | undefined {
    return this.#holderOf(principal)?.user
  }

  /** Whether someone may do everything. */
  isAdministrator(principal: Principal): boolean {
    if (principal.is === 'server') return true
    return this.userOf(principal)?.role === 'administrator' && this.isUnlimited(principal)
  }

  /** Whether someone may do everything that the user may: a token can be limited to a level or to workspaces. */
  isUnlimited(principal: Principal): boolean {
    if (principal.is === 'server') return true
    const holder = this.#holderOf(principal)
    if (holder === undefined) return false
    const { token } = holder
    return token === undefined || (token.level === 'manage' && token.workspaces === undefined)
  }

  /** Returns someone's level for a workspace; undefined if they may not see it. */
  levelOf(principal: Principal, workspace: Workspace): AccessLevel | undefined {
    if (principal.is === 'server') return 'manage'
    const holder = this.#holderOf(principal)
    const level = holder && levelOfUser(holder.user, workspace)
    if (level === undefined) return undefined
    const { token } = holder ?? {}
    if (token === undefined) return level
    const isFor = token.workspaces?.some((name) => nameKey(name) === nameKey(workspace.name)) ?? true
    return isFor ? lower(level, token.level) : undefined
  }

  canSee(principal: Principal, workspace: Workspace): boolean {
    return this.levelOf(principal, workspace) !== undefined
  }

  /** Returns the workspaces that someone may see. */
  visible(principal: Principal): readonly Workspace[] {
    const all = this.#table.list()
    return principal.is === 'server'
      ? all
      : all.flatMap((workspace) =>
          this.canSee(principal, workspace) ? [this.shown(principal, workspace)] : [],
        )
  }

  /** Returns a workspace as someone may see it: without the name of another that they may not see. */
  shown(principal: Principal, workspace: Workspace): Workspace {
    const { forkedFrom } = workspace
    if (principal.is === 'server' || forkedFrom === undefined) return workspace
    return this.canSeeName(principal, forkedFrom) ? workspace : { ...workspace, forkedFrom: undefined }
  }

  /** Whether someone may see a workspace of this name. */
  canSeeName(principal: Principal, name: string): boolean {
    const workspace = this.#table.find(name)
    return workspace !== undefined && this.canSee(principal, workspace)
  }

  /**
   * Requires a level for a workspace.
   *
   * @throws WORKSPACE_NOT_FOUND when it does not exist or must not be seen
   * @throws ACCESS_DENIED when the level is too low
   */
  require(principal: Principal, name: string, wanted: AccessLevel): void {
    if (principal.is === 'server') return
    const workspace = this.#table.find(name)
    const level = workspace && this.levelOf(principal, workspace)
    if (workspace === undefined || level === undefined)
      throw fault('WORKSPACE_NOT_FOUND', `workspace "${name}" does not exist`)
    if (includes(level, wanted)) return
    throw fault(
      'ACCESS_DENIED',
      `this requires the level "${wanted}" for workspace "${workspace.name}", and you have "${level}"; ask its owner to share it`,
    )
  }

  /**
   * Requires that a new name has the beginning of the old one, which is its owner's name.
   *
   * @throws ACCESS_DENIED
   */
  requireSameBeginning(principal: Principal, name: string, to: string): void {
    const [prefix = ''] = nameKey(name).split('-', 1)
    if (this.isAdministrator(principal) || nameKey(to).startsWith(`${prefix}-`)) return
    throw fault('ACCESS_DENIED', `the new name must begin with "${prefix}-", the name of its owner`)
  }

  /** Requires a user with the server's full trust. @throws ACCESS_DENIED */
  requireAdministrator(principal: Principal): void {
    if (this.isAdministrator(principal)) return
    throw fault('ACCESS_DENIED', 'this requires an administrator')
  }

  /**
   * Returns what someone may create.
   *
   * @throws ACCESS_DENIED when that is nothing
   */
  creatorOf(principal: Principal): Creator {
    const user = this.userOf(principal)
    if (this.isAdministrator(principal)) return new Creator(user, true, this.#quota, this.#table)
    if (user === undefined || user.role === 'guest' || !this.isUnlimited(principal))
      throw fault(
        'ACCESS_DENIED',
        user?.role === 'guest'
          ? 'guests create no workspaces; ask an administrator for the role of a member'
          : 'this token is limited, and cannot create workspaces; use one of the level "manage" for all workspaces',
      )
    return new Creator(user, false, this.#quota, this.#table)
  }

  /** Returns the idle time in ms that a workspace must not exceed; 0 without a limit. */
  idleQuotaOf({ ownership }: Workspace): number {
    const owner = ownership?.owner && this.#team?.find(ownership.owner.id)
    return owner === undefined || owner.role === 'administrator' ? 0 : (this.#quota.idleMs ?? 0)
  }

  /** Returns the user of a token or key, and the token; undefined if any of them has ended. */
  #holderOf(principal: Principal): Holder | undefined {
    if (principal.is === 'server') return undefined
    const { userId } = principal
    if (principal.is === 'token') return this.#team?.findValid(userId, principal.tokenId)
    const user = this.#team?.findKey(principal.fingerprint)
    return user?.id === userId ? { user } : undefined
  }
}

function levelOfUser(user: User, { ownership }: Workspace): AccessLevel | undefined {
  if (user.role === 'administrator' || ownership?.owner?.id === user.id) return 'manage'
  const shares = ownership?.shares ?? {}
  const levels = [user.id, ...user.groups.map((group) => `${GROUP_PREFIX}${group}`)]
    .filter((key) => Object.hasOwn(shares, key))
    .map((key) => shares[key])
    .filter((level) => level !== undefined)
  return levels.reduce<AccessLevel | undefined>(
    (best, level) => (best === undefined || includes(level, best) ? level : best),
    undefined,
  )
}
