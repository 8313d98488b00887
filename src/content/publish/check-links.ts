import { parsePath, repoOf } from '../page/request-path.ts'
import { ALL_GRANTS, type NextSite } from './next-site.ts'

/** Addresses that the server itself answers, and the start of the host. */
const OWN = /^\/(?:_|$)/
/** Stands for the host of the site. */
const HERE = 'http://site.invalid'

/** Whether a link begins with a slash, for browsers, which also ignore space before it. */
export function isRootLink(link: string): boolean {
  return /^\s*[/\\]/.test(link)
}

/** Checks the links of pages that begin with a slash, as browsers resolve them; each address once. */
export class LinkCheck {
  readonly #openSite: () => Promise<NextSite>
  readonly #hasHosts: boolean
  readonly #repo: string
  readonly #works = new Map<string, Promise<boolean>>()

  /**
   * @param openSite opens the site as it is after the publish, with a link into the repository
   * @param hasHosts whether repositories have separate hosts, on which such links begin at the repository
   */
  constructor(repo: string, hasHosts: boolean, openSite: () => Promise<NextSite>) {
    this.#repo = repo
    this.#hasHosts = hasHosts
    this.#openSite = openSite
  }

  /** Returns the first of some links at whose address nothing is published. Pages of other repositories are not checked. */
  async firstBroken(links: Iterable<string>): Promise<string | undefined> {
    for (const link of links) {
      const url = URL.canParse(link, HERE) ? new URL(link, HERE) : undefined
      if (url?.origin === HERE && !(await this.#isPublished(url.pathname))) return link
    }
    return undefined
  }

  #isPublished(address: string): Promise<boolean> {
    let known = this.#works.get(address)
    if (known === undefined) this.#works.set(address, (known = this.#find(address)))
    return known
  }

  async #find(address: string): Promise<boolean> {
    if (OWN.test(address)) return true
    const path = parsePath(address)
    if (path === undefined) return false
    const [first] = path.segments
    const inRepos = this.#hasHosts ? ['repos', this.#repo] : first === this.#repo ? ['repos'] : []
    const asked = { ...path, segments: [...inRepos, ...path.segments] }
    const repo = repoOf(asked.segments)
    if (repo !== this.#repo) return repo !== undefined
    const { page } = await (await this.#openSite()).finder.follow(asked, ALL_GRANTS)
    return page.is === 'object' ? !page.isNotFound : page.is !== 'missing'
  }
}
