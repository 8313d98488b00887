import { LRUCache } from 'lru-cache'
import type { User } from '../login/user.ts'
import { splitGroups } from '../../lib/openid/groups.ts'
import { isPasswordProof } from '../login/password-login.ts'
import type { ServiceToken } from '../session/service-token.ts'
import type { Session } from '../session/session-store.ts'
import type { AccessRules, Identity } from './access-rules.ts'
import type { Grants } from './grants.ts'

const REMEMBERED = 1_000

/** Grants of readers, computed once for a session or token as it was read, and for the headers of a proxy. */
export class ReaderGrants {
  readonly #rules: AccessRules
  readonly #users: ReadonlyMap<string, User>
  readonly #separator: string
  readonly #ofSessions = new WeakMap<Session, Grants>()
  readonly #ofTokens = new WeakMap<ServiceToken, Grants>()
  readonly #ofProxied = new LRUCache<string, Grants>({ max: REMEMBERED })

  /** @param separator what separates groups in a proxy's header */
  constructor(rules: AccessRules, users: readonly User[], separator: string) {
    this.#rules = rules
    this.#users = new Map(users.map((user) => [user.name, user]))
    this.#separator = separator
  }

  ofSession(session: Session): Grants {
    let grants = this.#ofSessions.get(session)
    if (grants === undefined) {
      grants = this.#rules.grantsOf(this.#identityOf(session))
      this.#ofSessions.set(session, grants)
    }
    return grants
  }

  ofToken(token: ServiceToken): Grants {
    let grants = this.#ofTokens.get(token)
    if (grants === undefined) {
      grants = this.#rules.grantsWithin(token.repos)
      this.#ofTokens.set(token, grants)
    }
    return grants
  }

  /** Returns the grants of a user named by a trusted proxy. @param groups the header with the user's groups */
  ofProxied(name: string, groups: string): Grants {
    const key = JSON.stringify([name, groups])
    let grants = this.#ofProxied.get(key)
    if (grants === undefined) {
      grants = this.#rules.grantsOf({ name, groups: splitGroups(groups, this.#separator) })
      this.#ofProxied.set(key, grants)
    }
    return grants
  }

  /** A configured user's groups apply immediately; a provider's are those of the login. */
  #identityOf({ user, proof, groups = [], isVerified }: Session): Identity {
    if (isPasswordProof(proof)) return { name: user, groups: this.#users.get(user)?.groups ?? [] }
    // Anybody could have this name at a provider that does not verify it.
    return { name: isVerified === true ? user : undefined, groups }
  }
}
