import type { Clock } from '../../lib/clock/clock.ts'
import { digestOf } from '../../lib/http/secret-form.ts'
import type { PublicKey } from '../../lib/ssh/public-key.ts'
import { fault } from '../errors.ts'
import type { AccessLevel } from '../access-level.ts'
import type { TeamFile } from './team-file.ts'
import {
  createId,
  createSecret,
  expiryAfter,
  isSecret,
  parseLabel,
  parseUserName,
  type PersonalToken,
  type Role,
  SELF,
  type User,
  type UserKey,
} from './user.ts'

const MAX_USERS = 10_000
const MAX_KEYS = 100
const MAX_TOKENS = 1_000

/** A personal token and its user. */
export interface UserToken {
  readonly user: User
  readonly token: PersonalToken
}

/** A request for a personal token. */
export interface TokenRequest {
  readonly name: string
  readonly level: AccessLevel
  readonly workspaces?: readonly string[] | undefined
  /** Lifetime in seconds. */
  readonly expiresAfterS: number
}

/** A login with an OpenID provider. */
export interface Identity {
  /** Issuer and subject, which identify the user. */
  readonly identity: string
  /** The name that the provider suggests. */
  readonly name: string
  readonly groups: readonly string[]
  /** Role of a new user, and of an existing one if given. */
  readonly role: Role | undefined
}

/** The users of a server, their SSH keys and personal tokens. Changes take effect at once. */
export class Team {
  readonly #file: TeamFile
  readonly #clock: Clock
  #index: Index | undefined

  constructor(file: TeamFile, clock: Clock) {
    this.#file = file
    this.#clock = clock
  }

  /** Calls the listener after every change. */
  onChange(listener: () => void): void {
    this.#file.onChange(listener)
  }

  get users(): readonly User[] {
    return this.#file.users
  }

  /** Returns a user by ID, unless it is disabled. */
  active(id: string): User | undefined {
    const user = this.#indexed().byId.get(id)
    return user?.isDisabled === false ? user : undefined
  }

  /** Returns a user by ID or name, active or not. */
  find(idOrName: string): User | undefined {
    const { byId, byName } = this.#indexed()
    return byId.get(idOrName) ?? byName.get(idOrName)
  }

  /** @throws USER_NOT_FOUND */
  get(idOrName: string): User {
    const user = this.find(idOrName)
    if (user !== undefined) return user
    throw fault('USER_NOT_FOUND', `user "${idOrName.slice(0, 80)}" does not exist; see "workspace user ls"`)
  }

  /** Returns the valid token with a secret, and its user. */
  findToken(secret: string): UserToken | undefined {
    const found = isSecret(secret) ? this.#indexed().byDigest.get(digestOf(secret)) : undefined
    return found && this.findValid(found.user.id, found.token.id)
  }

  /** Returns a token and its user, if it still exists, has not expired and the user is active. */
  findValid(userId: string, tokenId: string): UserToken | undefined {
    const user = this.active(userId)
    const token = user?.tokens.find(({ id }) => id === tokenId)
    if (user === undefined || token === undefined || token.expiresMs <= this.#clock.wallMs()) return undefined
    return { user, token }
  }

  /** Returns the active user with an SSH key. */
  findKey(fingerprint: string): User | undefined {
    const id = this.#indexed().byFingerprint.get(fingerprint)
    return id === undefined ? undefined : this.active(id)
  }

  /** Creates a user. @throws USER_ALREADY_EXISTS */
  async add(nameInput: string, role: Role): Promise<User> {
    const name = parseUserName(nameInput)
    return this.#file.change((users) => {
      const user = this.#newUser(users, name, role)
      return [[...users, user], user]
    })
  }

  /**
   * Records a login, and creates its user at the first one.
   *
   * @throws ACCESS_DENIED when the user is disabled
   */
  async logIn({ identity, name, groups, role }: Identity): Promise<User> {
    return this.#file.change((users) => {
      const known = users.find((user) => user.identity === identity)
      if (known?.isDisabled === true)
        throw fault('ACCESS_DENIED', `user "${known.name}" is disabled; ask an administrator`)
      const before = known ?? this.#newUser(users, freeName(users, name), role ?? 'member')
      const user = { ...before, identity, groups: [...groups], role: role ?? before.role }
      return [known === undefined ? [...users, user] : replaced(users, user), user]
    })
  }

  /** Changes a user. @throws USER_NOT_FOUND */
  async set(
    name: string,
    change: { readonly role?: Role | undefined; readonly isDisabled?: boolean | undefined },
  ): Promise<User> {
    return this.#edit(name, (user) => {
      const changed = {
        ...user,
        role: change.role ?? user.role,
        isDisabled: change.isDisabled ?? user.isDisabled,
      }
      return [changed, changed]
    })
  }

  /** Removes a user with all keys and tokens. @throws USER_NOT_FOUND */
  async remove(name: string): Promise<void> {
    await this.#file.change((users) => {
      const { id } = this.get(name)
      return [users.filter((user) => user.id !== id), undefined]
    })
  }

  /** Adds an SSH key of a user. @throws KEY_ALREADY_EXISTS when it is somebody's, and INVALID_REQUEST */
  async addKey(userName: string, nameInput: string, { publicKey, fingerprint }: PublicKey): Promise<UserKey> {
    const name = parseLabel(nameInput)
    return this.#edit(userName, (user) => {
      // A key identifies one user.
      if (this.#indexed().byFingerprint.has(fingerprint))
        throw fault('KEY_ALREADY_EXISTS', `key ${fingerprint} is already registered`)
      if (user.keys.length >= MAX_KEYS)
        throw fault('INVALID_REQUEST', `a user can have at most ${MAX_KEYS} keys; remove one`)
      const key = { name, publicKey, fingerprint, createdMs: this.#clock.wallMs() }
      return [{ ...user, keys: [...user.keys, key] }, key]
    })
  }

  /** Removes an SSH key of a user. @throws KEY_NOT_FOUND */
  async removeKey(userName: string, fingerprint: string): Promise<void> {
    await this.#edit(userName, (user) => {
      const keys = user.keys.filter((key) => key.fingerprint !== fingerprint)
      if (keys.length < user.keys.length) return [{ ...user, keys }, undefined]
      throw fault('KEY_NOT_FOUND', `user "${user.name}" has no key ${fingerprint.slice(0, 80)}`)
    })
  }

  /** Creates a personal token; its secret is returned only here. @throws INVALID_REQUEST */
  async addToken(
    userName: string,
    { name: nameInput, level, workspaces, expiresAfterS }: TokenRequest,
  ): Promise<{ readonly token: PersonalToken; readonly secret: string }> {
    const nowMs = this.#clock.wallMs()
    const name = parseLabel(nameInput)
    const expiresMs = expiryAfter(expiresAfterS, nowMs)
    const secret = createSecret()
    const token: PersonalToken = {
      id: createId('tok'),
      name,
      digest: digestOf(secret),
      level,
      ...(workspaces !== undefined && { workspaces: [...workspaces] }),
      createdMs: nowMs,
      expiresMs,
    }
    return this.#edit(userName, (user) => {
      const valid = user.tokens.filter((each) => each.expiresMs > nowMs)
      if (valid.length >= MAX_TOKENS)
        throw fault('INVALID_REQUEST', `a user can have at most ${MAX_TOKENS} tokens; revoke one`)
      return [
        { ...user, tokens: [...valid, token] },
        { token, secret },
      ]
    })
  }

  /** Revokes a personal token. @throws TOKEN_NOT_FOUND */
  async removeToken(userName: string, id: string): Promise<void> {
    await this.#edit(userName, (user) => {
      const tokens = user.tokens.filter((token) => token.id !== id)
      if (tokens.length < user.tokens.length) return [{ ...user, tokens }, undefined]
      throw fault('TOKEN_NOT_FOUND', `user "${user.name}" has no token "${id.slice(0, 80)}"`)
    })
  }

  #newUser(users: readonly User[], name: string, role: Role): User {
    if (users.some((user) => user.name === name))
      throw fault('USER_ALREADY_EXISTS', `user "${name}" already exists`)
    if (users.length >= MAX_USERS)
      throw fault('INVALID_REQUEST', `a server can have at most ${MAX_USERS} users; remove one`)
    return {
      id: createId('usr'),
      name,
      role,
      isDisabled: false,
      groups: [],
      createdMs: this.#clock.wallMs(),
      keys: [],
      tokens: [],
    }
  }

  #edit<T>(name: string, edit: (user: User) => readonly [User, T]): Promise<T> {
    return this.#file.change((users) => {
      const [user, result] = edit(this.get(name))
      return [replaced(users, user), result]
    })
  }

  /** Returns the lookups for the current users. */
  #indexed(): Index {
    const { users } = this.#file
    if (this.#index?.users !== users) this.#index = indexOf(users)
    return this.#index
  }
}

interface Index {
  readonly users: readonly User[]
  readonly byId: ReadonlyMap<string, User>
  readonly byName: ReadonlyMap<string, User>
  readonly byDigest: ReadonlyMap<string, UserToken>
  readonly byFingerprint: ReadonlyMap<string, string>
}

function indexOf(users: readonly User[]): Index {
  return {
    users,
    byId: new Map(users.map((user) => [user.id, user])),
    byName: new Map(users.map((user) => [user.name, user])),
    byDigest: new Map(
      users.flatMap((user) => user.tokens.map((token) => [token.digest, { user, token }] as const)),
    ),
    byFingerprint: new Map(
      users.flatMap((user) => user.keys.map(({ fingerprint }) => [fingerprint, user.id] as const)),
    ),
  }
}

function replaced(users: readonly User[], changed: User): readonly User[] {
  return users.map((user) => (user.id === changed.id ? changed : user))
}

/** Returns a valid and free name that resembles the one suggested. */
function freeName(users: readonly User[], suggested: string): string {
  const base =
    suggested
      .split('@', 1)[0]
      ?.toLowerCase()
      .replace(/[^a-z0-9]/g, '')
      .slice(0, 24) || 'user'
  const taken = new Set([SELF, ...users.map(({ name }) => name)])
  for (let i = 1; ; i += 1) {
    const name = i === 1 ? base : `${base}${i}`
    if (!taken.has(name)) return name
  }
}
