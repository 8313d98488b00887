import { LRUCache } from 'lru-cache'
import type { Grants } from './grants.ts'
import { foldName, matchesPattern } from './repo-pattern.ts'

/** Rule for the repositories that match one of its patterns. */
export interface AccessRule {
  readonly repos: readonly string[]
  readonly users?: readonly string[] | undefined
  readonly groups?: readonly string[] | undefined
  readonly emailDomains?: readonly string[] | undefined
  /** Admits everyone who has logged in. */
  readonly readers?: boolean | undefined
  /** Admits everyone, even without a login. */
  readonly public?: boolean | undefined
}

/** Configured access. */
export interface AccessConfig {
  /** Who may read repositories without a rule. */
  readonly default: 'readers' | 'nobody'
  readonly rules: readonly AccessRule[]
}

/** Properties of a reader that rules match. */
export interface Identity {
  /** Name that the configuration, a trusted proxy or a verified address vouches for; undefined without one. */
  readonly name: string | undefined
  readonly groups: readonly string[]
}

interface CompiledRule {
  readonly patterns: readonly string[]
  readonly users: ReadonlySet<string>
  readonly groups: ReadonlySet<string>
  readonly domains: ReadonlySet<string>
  readonly admitsReaders: boolean
  readonly isPublic: boolean
}

/** Repository names come from requests, so only some can be remembered. */
const REMEMBERED = 10_000

/** Access rules of the configuration, compiled once. The first rule that matches a repository's name decides. */
export class AccessRules {
  readonly #rules: readonly CompiledRule[]
  readonly #ruleOf = new LRUCache<string, number>({ max: REMEMBERED })
  /** Grants of a visitor without a login. */
  readonly visitor: Grants
  readonly hasPublic: boolean
  /** Whether a rule names users or domains of addresses. */
  readonly namesReaders: boolean

  constructor({ default: admitted, rules }: AccessConfig) {
    // The last rule is for all other repositories.
    this.#rules = [...rules, { repos: ['*'], readers: admitted === 'readers' }].map(compile)
    this.hasPublic = this.#rules.some(({ isPublic }) => isPublic)
    this.namesReaders = this.#rules.some(({ users, domains }) => users.size + domains.size > 0)
    this.visitor = this.#grants(false, ({ isPublic }) => isPublic)
  }

  /** Returns the grants of a reader who has logged in. */
  grantsOf({ name, groups }: Identity): Grants {
    const domain = name === undefined ? undefined : domainOf(name)
    return this.#grants(
      true,
      (rule) =>
        rule.isPublic ||
        rule.admitsReaders ||
        (name !== undefined && rule.users.has(name)) ||
        (domain !== undefined && rule.domains.has(domain)) ||
        groups.some((group) => rule.groups.has(group)),
    )
  }

  /** Returns the grants of a client limited to some repositories; public ones are always included. */
  grantsWithin(patterns: readonly string[]): Grants {
    const folded = patterns.map(foldName)
    const known = new Map<string, boolean>()
    return {
      hasSite: false,
      mayRead: (repo) => {
        let mayRead = known.get(repo)
        if (mayRead !== undefined) return mayRead
        const name = foldName(repo)
        mayRead = this.visitor.mayRead(repo) || folded.some((pattern) => matchesPattern(pattern, name))
        if (known.size >= REMEMBERED) known.clear()
        known.set(repo, mayRead)
        return mayRead
      },
    }
  }

  /** Whether a rule names a group. */
  namesGroup(group: string): boolean {
    return this.#rules.some(({ groups }) => groups.has(group))
  }

  #grants(hasSite: boolean, admits: (rule: CompiledRule) => boolean): Grants {
    const admitted = this.#rules.map(admits)
    return { hasSite, mayRead: (repo) => admitted[this.#indexOf(repo)] === true }
  }

  #indexOf(repo: string): number {
    if (this.#rules.length === 1) return 0
    const known = this.#ruleOf.get(repo)
    if (known !== undefined) return known
    const name = foldName(repo)
    const index = this.#rules.findIndex(({ patterns }) =>
      patterns.some((pattern) => matchesPattern(pattern, name)),
    )
    this.#ruleOf.set(repo, index)
    return index
  }
}

function compile(rule: AccessRule): CompiledRule {
  const { repos, users = [], groups = [], emailDomains = [], readers, public: isPublic } = rule
  return {
    patterns: repos.map(foldName),
    // Verified addresses are in lower case.
    users: new Set(users.flatMap((user) => (user.includes('@') ? [user, user.toLowerCase()] : [user]))),
    groups: new Set(groups),
    domains: new Set(emailDomains.map((domain) => domain.toLowerCase())),
    admitsReaders: readers === true,
    isPublic: isPublic === true,
  }
}

function domainOf(name: string): string | undefined {
  const at = name.lastIndexOf('@')
  return at === -1 ? undefined : name.slice(at + 1).toLowerCase()
}
