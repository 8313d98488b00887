import { parsePath, pathPartOf, repoOf } from '../page/request-path.ts'
import { ALL_GRANTS, type NextSite } from './next-site.ts'

/** Addresses that the server itself answers, and the start of the host. */
const OWN = /^\/(?:[_/\\]|$)/

/** Checks the links of pages that begin with a slash, each address once. */
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
    for (const link of links) if (!(await this.#isPublished(pathPartOf(link)))) return link
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
    const asked = this.#hasHosts ? { ...path, segments: ['repos', this.#repo, ...path.segments] } : path
    const repo = repoOf(asked.segments)
    if (repo !== this.#repo) return repo !== undefined
    const { page } = await (await this.#openSite()).finder.follow(asked, ALL_GRANTS)
    return page.is === 'object' ? !page.isNotFound : page.is !== 'missing'
  }
}
