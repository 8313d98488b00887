import { readFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Clock } from '../../../src/lib/clock/clock.ts'
import { openSessionStore } from '../../../src/content/session/open-session-store.ts'
import { createSecret, createToken } from '../../../src/content/session/service-token.ts'
import { digestOf } from '../../../src/lib/http/secret-form.ts'
import type { SessionStore } from '../../../src/content/session/session-store.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import type { Store } from '../../../src/content/store/store.ts'
import { masked } from './access-site.ts'
import { startContent } from './content-server.ts'
import { FaultyStore } from './faulty-store.ts'
import { RepoBrowser } from './repo-browser.ts'
import { tempDir } from '../temp-dir.ts'

/** A request; what identifies its reader differs from server to server. */
export interface SiteRequest {
  readonly method: string
  readonly path: string
  readonly hosts: readonly string[]
  /** Cookies by the names that `ComparedSite.remember` gave them. */
  readonly cookies: readonly string[]
  /** Service token by its name. */
  readonly token: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** Everything that a client sees of a response, without what differs each time. */
export interface SiteAnswer {
  readonly status: number
  /** Sorted. */
  readonly headers: readonly string[]
  readonly body: string
}

/** Ignored by the content server, and never answered early. */
const ROUTED = { authorization: 'Basic eDp5' }

/** One of two servers over the same objects that get the same requests. */
export class ComparedSite {
  readonly url: string
  readonly store: FaultyStore
  readonly sessions: SessionStore
  readonly stop: () => Promise<void>
  readonly purge: () => void
  readonly #dir: string
  readonly #clock: Clock
  readonly #more: Readonly<Record<string, string>>
  readonly #cookies = new Map<string, string>()
  readonly #secrets = new Map<string, string>()

  private constructor(
    content: Awaited<ReturnType<typeof startContent>>,
    opened: Pick<ComparedSite, 'store' | 'sessions'>,
    clock: Clock,
    more: Readonly<Record<string, string>>,
  ) {
    this.url = content.url
    this.stop = content.running.stop
    this.purge = content.running.purge
    this.#dir = content.dir
    this.store = opened.store
    this.sessions = opened.sessions
    this.#clock = clock
    this.#more = more
  }

  /** Starts a server. @param isRouted whether each of its requests gets to the routes */
  static async start(given: {
    readonly root: string
    readonly settings: Readonly<Record<string, unknown>>
    readonly clock: Clock
    readonly isRouted: boolean
  }): Promise<ComparedSite> {
    const { clock } = given
    const dir = tempDir()
    let store: FaultyStore | undefined
    const file = join(dir, 'sessions.db')
    const settings = {
      ...given.settings,
      session: { secure: false, max_age: '1m', file },
      store: { root: given.root },
      reads: { file: 'reads.jsonl' },
    }
    const wrap = (): Store => (store = new FaultyStore(new FsStore(given.root)))
    const content = await startContent({}, { dir, settings, clock, store: wrap })
    const sessions = await openSessionStore({ file }, clock)
    if (store === undefined) throw new Error('the server has no store')
    return new ComparedSite(content, { store, sessions }, clock, given.isRouted ? ROUTED : {})
  }

  /** Logs a user in on each host, if the first login is not valid for all, and remembers the cookies as `NAME@HOST`. */
  async logIn(name: string, hosts: readonly string[]): Promise<void> {
    const browser = new RepoBrowser(this.url)
    const form = new URLSearchParams({ username: name, password: name })
    for (const host of hosts) {
      await browser.go(`//${host}/`)
      const cookies = (): readonly string[] => browser.cookiesFor(new URL(`http://${host}`).hostname)
      if (!cookies().some((each) => each.startsWith('_session=')))
        await browser.ask(`//${host}/_login`, 'POST', form)
      this.#cookies.set(`${name}@${host}`, cookies().join('; '))
    }
  }

  /** Creates a service token, and remembers its secret by its name. */
  async addToken(name: string, repos: readonly string[]): Promise<void> {
    const secret = createSecret()
    const token = createToken({ name, repos: [...repos], lifetimeMs: 86_400_000 }, this.#clock.wallMs())
    if (await this.sessions.addToken(digestOf(secret), token)) this.#secrets.set(name, secret)
  }

  /** Sends a request. */
  async ask({ method, path, hosts, cookies, token, headers, body }: SiteRequest): Promise<SiteAnswer> {
    const cookie = cookies.map((each) => this.#cookies.get(each) ?? each).filter((each) => each !== '')
    const secret = token === undefined ? undefined : (this.#secrets.get(token) ?? token)
    const all = [
      ...hosts.map((host) => ['host', host]),
      ...cookie.map((each) => ['cookie', each]),
      ...Object.entries({ ...this.#more, ...(secret && { authorization: `Bearer ${secret}` }), ...headers }),
      ...(body === undefined ? [] : [['content-length', String(body.length)]]),
    ].flat()
    const { port } = new URL(this.url)
    const sent = request({ host: '127.0.0.1', port, method, path, setHost: false, headers: all })
    const response = await new Promise<IncomingMessage>((resolve, reject) =>
      sent.on('response', resolve).on('error', reject).end(body),
    )
    const text = (await buffer(response)).toString('latin1')
    const { date: _date, ...shown } = response.headers
    return {
      status: response.statusCode ?? 0,
      headers: Object.entries(shown)
        .map(([name, value]) => masked(`${name}: ${String(value)}`))
        .toSorted(),
      // Pages have no ids of readers.
      body: shown.etag === undefined ? masked(text) : text,
    }
  }

  /** Returns the metrics of requests and of the cache's entries. */
  async counts(asked: SiteRequest): Promise<readonly string[]> {
    const { body } = await this.ask({ ...asked, path: '/metrics' })
    return body
      .split('\n')
      .filter((line) => /^(?:http_request_duration_seconds_count|content_cache_(?!bytes))/.test(line))
      .toSorted()
  }

  /** Stops the server and returns its log of reads. */
  async finish(): Promise<readonly string[]> {
    await this.stop()
    await this.sessions.close()
    return readFileSync(join(this.#dir, 'reads.jsonl'), 'utf8').trim().split('\n')
  }
}
