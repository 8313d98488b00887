import type { ContentConfig } from '../../config.ts'
import { formatPath, type RequestPath } from '../../page/request-path.ts'

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const ENCODED = /^x--((?:[0-9a-f]{2})+)$/
const MAX_LABEL = 63

/**
 * Repositories on hosts of their own, where a domain is set for that: `guide.docs.example/x` is `docs.example/repos/guide/x`.
 * A script of one then reads nothing of the others (threat O6). All other names are the common host's; below the domain there
 * is none but the one that `http.public_url` names.
 */
export class RepoHosts {
  readonly #domain: string | undefined
  readonly #publicUrl: URL | undefined

  constructor({ repoDomain, publicUrl }: Pick<ContentConfig['http'], 'repoDomain' | 'publicUrl'>) {
    this.#domain = repoDomain
    this.#publicUrl = publicUrl === undefined ? undefined : new URL(publicUrl)
  }

  /** Whether repositories have hosts of their own. */
  get isEnabled(): boolean {
    return this.#domain !== undefined
  }

  /** The repository whose own host this is: undefined for the common host, '' for a host of no repository. */
  repoOf(host: string): string | undefined {
    if (this.#domain === undefined) return undefined
    const name = host.toLowerCase().replace(/\.?(?::\d+)?$/, '')
    if (!name.endsWith(`.${this.#domain}`) || name === this.#publicUrl?.hostname) return undefined
    return decodeLabel(name.slice(0, -this.#domain.length - 1))
  }

  /**
   * Where a path of the common host belongs: undefined where it is right, `nowhere` for a repository that cannot have a host;
   * on the common host its scripts could read all others.
   */
  redirect(host: string, { segments: [first, name, ...rest], isDirectory }: RequestPath): string | undefined {
    if (this.#domain === undefined || first !== 'repos' || name === undefined) return undefined
    if (this.repoOf(host) !== undefined) return undefined
    const origin = this.originOf(name, host)
    return origin === undefined ? 'nowhere' : origin + formatPath(rest, isDirectory || rest.length === 0)
  }

  /** `//HOST:PORT` of a repository; undefined for one whose name is too long for a host. @param host the one asked now */
  originOf(repo: string, host: string): string | undefined {
    const label = encodeLabel(repo)
    return label === undefined ? undefined : `//${label}.${this.#domain}${portOf(host)}`
  }

  /** `//HOST:PORT` of the common host. @param host the one asked now */
  commonOrigin(host: string): string {
    return this.#publicUrl === undefined ? `//${this.#domain}${portOf(host)}` : this.#publicUrl.origin
  }

  /** A path of any host as one of the common host. */
  inside(host: string, path: RequestPath): RequestPath {
    const repo = this.repoOf(host)
    return repo === undefined ? path : { ...path, segments: ['repos', repo, ...path.segments] }
  }

  /** A path of the common host as one of the host that was asked. */
  outside(host: string, path: string): string {
    const repo = this.repoOf(host)
    const before = repo === undefined ? undefined : formatPath(['repos', repo], true)
    return before !== undefined && path.startsWith(before) ? path.slice(before.length - 1) : path
  }
}

/** Names that are no host names, such as `My_Guide`, are written in hexadecimal; so is what looks like that already. */
function encodeLabel(repo: string): string | undefined {
  if (LABEL.test(repo) && !ENCODED.test(repo)) return repo
  const label = `x--${Buffer.from(repo).toString('hex')}`
  return label.length > MAX_LABEL ? undefined : label
}

/** '' for what no repository is called. */
function decodeLabel(label: string): string {
  const [, hex] = ENCODED.exec(label) ?? []
  const repo = hex === undefined ? label : Buffer.from(hex, 'hex').toString()
  return encodeLabel(repo) === label ? repo : ''
}

function portOf(host: string): string {
  return /:\d+$/.exec(host)?.[0] ?? ''
}
