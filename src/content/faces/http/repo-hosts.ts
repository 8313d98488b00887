import { formatPath, type RequestPath } from '../../page/request-path.ts'

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * Repositories on hosts of their own, where a domain is set for that: `guide.docs.example/x` is `docs.example/repos/guide/x`.
 * A script of one then reads nothing of the others (threat O6). Those whose names are no host names stay where they are.
 */
export class RepoHosts {
  readonly #domain: string | undefined

  constructor(domain: string | undefined) {
    this.#domain = domain
  }

  /** Where a path of the common host belongs; undefined where it is right. */
  redirect(host: string, { segments: [first, name, ...rest], isDirectory }: RequestPath): string | undefined {
    if (this.#domain === undefined || first !== 'repos' || name === undefined) return undefined
    if (this.#repoOf(host) !== undefined || !LABEL.test(name)) return undefined
    const port = /:\d+$/.exec(host)?.[0] ?? ''
    return `//${name}.${this.#domain}${port}${formatPath(rest, isDirectory || rest.length === 0)}`
  }

  /** A path of any host as one of the common host. */
  inside(host: string, path: RequestPath): RequestPath {
    const repo = this.#repoOf(host)
    return repo === undefined ? path : { ...path, segments: ['repos', repo, ...path.segments] }
  }

  /** A path of the common host as one of the host that was asked. */
  outside(host: string, path: string): string {
    const repo = this.#repoOf(host)
    const before = repo === undefined ? undefined : `/repos/${repo}/`
    return before !== undefined && path.startsWith(before) ? path.slice(before.length - 1) : path
  }

  #repoOf(host: string): string | undefined {
    if (this.#domain === undefined) return undefined
    const name = host.toLowerCase().replace(/\.?(?::\d+)?$/, '')
    const label = name.endsWith(`.${this.#domain}`) ? name.slice(0, -this.#domain.length - 1) : ''
    return LABEL.test(label) ? label : undefined
  }
}
