import type { ContentConfig } from '../../config.ts'
import { formatPath, parsePath, type RequestPath } from '../../page/request-path.ts'

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const ENCODED = /^x--((?:[0-9a-f]{2})+)$/
const MAX_LABEL = 63

/**
 * Separate hosts for repositories, if a domain is configured: `guide.docs.example/x` is `docs.example/repos/guide/x`.
 * A script of one repository can then read nothing of the others (threat O6). All other names belong to the common
 * host; below the domain that is only the one that `http.public_url` names.
 */
export class RepoHosts {
  readonly #domain: string | undefined
  readonly #publicUrl: URL | undefined

  constructor({ repoDomain, publicUrl }: Pick<ContentConfig['http'], 'repoDomain' | 'publicUrl'>) {
    this.#domain = repoDomain
    this.#publicUrl = publicUrl === undefined ? undefined : new URL(publicUrl)
  }

  /** Whether repositories have separate hosts. */
  get isEnabled(): boolean {
    return this.#domain !== undefined
  }

  /** Returns the repository of a host: undefined for the common host, '' for a host without a repository. */
  repoOf(host: string): string | undefined {
    if (this.#domain === undefined) return undefined
    const name = host.toLowerCase().replace(/\.?(?::\d+)?$/, '')
    if (!name.endsWith(`.${this.#domain}`) || name === this.#publicUrl?.hostname) return undefined
    return decodeLabel(name.slice(0, -this.#domain.length - 1))
  }

  /**
   * Returns the right address of a common host's path: undefined if it is this one, `nowhere` if the repository
   * cannot have a host; on the common host its scripts could read all others.
   */
  redirect(host: string, { segments: [first, name, ...rest], isDirectory }: RequestPath): string | undefined {
    if (this.#domain === undefined || first !== 'repos' || name === undefined) return undefined
    if (this.repoOf(host) !== undefined) return undefined
    const origin = this.originOf(name, host)
    return origin === undefined ? 'nowhere' : origin + formatPath(rest, isDirectory || rest.length === 0)
  }

  /**
   * Returns `//HOST:PORT` of a repository, or undefined if its name is too long for a host.
   *
   * @param host the host of the request
   */
  originOf(repo: string, host: string): string | undefined {
    const label = encodeLabel(repo)
    return label === undefined ? undefined : `//${label}.${this.#domain}${portOf(host)}`
  }

  /** Returns `//HOST:PORT` of the common host. @param host the host of the request */
  commonOrigin(host: string): string {
    return this.#publicUrl === undefined ? `//${this.#domain}${portOf(host)}` : this.#publicUrl.origin
  }

  /**
   * Returns the common host's path of an address on this site; undefined for other sites.
   *
   * @param host the host of the request
   */
  pathOf(address: string, host: string): RequestPath | undefined {
    const url = new URL(address)
    const isHere =
      url.host === host.toLowerCase() ||
      url.origin === this.#publicUrl?.origin ||
      url.hostname === this.#domain ||
      this.repoOf(url.host) !== undefined
    const path = isHere ? parsePath(url.pathname) : undefined
    return path && this.inside(url.host, path)
  }

  /** Converts a path of any host to the common host's. */
  inside(host: string, path: RequestPath): RequestPath {
    const repo = this.repoOf(host)
    return repo === undefined ? path : { ...path, segments: ['repos', repo, ...path.segments] }
  }

  /** Converts a path of the common host to one of the requested host. */
  outside(host: string, path: string): string {
    const repo = this.repoOf(host)
    const before = repo === undefined ? undefined : formatPath(['repos', repo], true)
    return before !== undefined && path.startsWith(before) ? path.slice(before.length - 1) : path
  }
}

/**
 * Encodes names that are not valid host names, such as `My_Guide`, in hexadecimal, and names that look encoded too.
 */
function encodeLabel(repo: string): string | undefined {
  if (LABEL.test(repo) && !ENCODED.test(repo)) return repo
  const label = `x--${Buffer.from(repo).toString('hex')}`
  return label.length > MAX_LABEL ? undefined : label
}

/** Decodes a label; '' if no repository has it. */
function decodeLabel(label: string): string {
  const [, hex] = ENCODED.exec(label) ?? []
  const repo = hex === undefined ? label : Buffer.from(hex, 'hex').toString()
  return encodeLabel(repo) === label ? repo : ''
}

function portOf(host: string): string {
  return /:\d+$/.exec(host)?.[0] ?? ''
}
