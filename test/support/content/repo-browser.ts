import { request } from 'node:http'
import { text } from 'node:stream/consumers'

interface Kept {
  readonly name: string
  readonly value: string
  /** Undefined for a host-only cookie. */
  readonly domain: string | undefined
  readonly host: string
  readonly path: string
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: string
  /** `//host/path` that responded. */
  readonly at: string
}

/**
 * A browser for several hosts of one server at `url`: it stores cookies according to RFC 6265, and follows redirects.
 */
export class RepoBrowser {
  #url: string
  #cookies: readonly Kept[] = []
  /** Headers of every request. */
  headers: Readonly<Record<string, string>> = {}

  constructor(url: string) {
    this.#url = url
  }

  /** Directs further requests to another server process. */
  moveTo(url: string): void {
    this.#url = url
  }

  /** Sets a cookie like `document.cookie` on a page, or Set-Cookie from a server. */
  toss(host: string, line: string): void {
    this.#keep(host, line)
  }

  cookiesFor(host: string, path = '/'): readonly string[] {
    return this.#cookies
      .filter((each) => (each.domain === undefined ? each.host === host : isBelow(host, each.domain)))
      .filter((each) => path.startsWith(each.path))
      .toSorted((a, b) => b.path.length - a.path.length)
      .map(({ name, value }) => `${name}=${value}`)
  }

  /** Sends one request to `//host/path`, without following redirects. */
  async ask(at: string, method = 'GET', body?: URLSearchParams): Promise<Answer> {
    const { host, hostname, pathname, search } = new URL(at, 'http://x')
    const cookie = this.cookiesFor(hostname, pathname).join('; ')
    const response = await new Promise<import('node:http').IncomingMessage>((resolve, reject) =>
      request(
        this.#url + pathname + search,
        {
          method,
          headers: {
            ...this.headers,
            host,
            ...(cookie !== '' && { cookie }),
            ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
          },
        },
        resolve,
      )
        .on('error', reject)
        .end(body?.toString()),
    )
    for (const line of response.headers['set-cookie'] ?? []) this.#keep(hostname, line)
    return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response), at }
  }

  /** Like `ask`, but follows at most ten redirects. */
  async go(at: string): Promise<Answer> {
    let answer = await this.ask(at)
    for (let times = 0; times < 10 && answer.headers['location'] !== undefined; times++)
      answer = await this.ask(new URL(String(answer.headers['location']), `http:${answer.at}`).href.slice(5))
    return answer
  }

  #keep(host: string, line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
    const of = (name: string): string | undefined =>
      attributes.find((each) => each.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)
    const [name = '', value = ''] = pair.split('=')
    const domain = of('domain')
    const path = of('path') ?? '/'
    const isSecure = attributes.some((each) => each.toLowerCase() === 'secure')
    if (domain !== undefined && !isBelow(host, domain)) return
    if (name.startsWith('__Host-') && (domain !== undefined || path !== '/' || !isSecure)) return
    const others = this.#cookies.filter(
      (each) =>
        !(
          each.name === name &&
          each.path === path &&
          each.domain === domain &&
          (domain !== undefined || each.host === host)
        ),
    )
    this.#cookies = of('max-age') === '0' ? others : [...others, { name, value, domain, host, path }]
  }
}

function isBelow(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}
