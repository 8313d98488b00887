import type { IncomingMessage } from 'node:http'
import { LRUCache } from 'lru-cache'
import type { ContentConfig } from '../../config.ts'
import { type Flow, flowSchema } from '../../login/flow.ts'
import { withoutSection } from '../../page/next.ts'
import { createSessionId, isSessionId } from '../../session/session-store.ts'
import { parseJson } from '../../../lib/schema/parse-json.ts'

const SESSION = '_session'
const FLOW = '_login_flow'
const FLOW_PATH = '/_login/oidc'
const FLOW_MAX_AGE_S = 600
const SECRET = '_enter'
const SECRET_MAX_AGE_S = 600
/** Length that every browser accepts, with the attributes (RFC 6265, section 6.1). */
const MAX_COOKIE = 4096
const REMEMBERED = 10_000
const MAX_REMEMBERED = 1_024

/**
 * Cookies of one host. With separate hosts for repositories, a page of one host can set cookies for all others
 * through their common domain. Browsers refuse such cookies if the name begins with `__Host-`, which requires https.
 * Without https, two cookies of the same name are treated as an attack, and neither counts.
 */
export class Cookies {
  readonly #config: ContentConfig
  readonly #domain: string | undefined
  readonly #prefix: string
  /** Values of the session's cookie by the text of the header: browsers send the same each time. */
  readonly #sessions = new LRUCache<string, readonly string[]>({ max: REMEMBERED })

  constructor(config: ContentConfig) {
    this.#config = config
    this.#domain = config.http.repoDomain
    this.#prefix = this.#domain !== undefined && config.session.secure ? '__Host-' : ''
  }

  /** Returns the id of the session, or undefined without one. */
  sessionIdOf(request: IncomingMessage): string | undefined {
    return this.#read(request, SESSION)
  }

  /** Whether a browser sends several sessions, of which at most one is valid. */
  isAmbiguous(request: IncomingMessage): boolean {
    return this.#domain !== undefined && this.#valuesOf(request, SESSION).length > 1
  }

  /** Sets the session; '' removes it. */
  session(id: string): readonly string[] {
    const maxAgeS = id === '' ? 0 : Math.floor(this.#config.session.maxAgeMs / 1000)
    return [this.#set(SESSION, id, '/', maxAgeS), ...this.forgetShared()]
  }

  /** Removes a cookie set for all hosts, by an earlier version or a page of one of them. */
  forgetShared(): readonly string[] {
    return this.#domain === undefined || this.#prefix !== ''
      ? []
      : [`${SESSION}=; Path=/; Domain=${this.#domain}; Max-Age=0`]
  }

  /**
   * Stores the login's state while the user is at the provider; undefined removes it. Browsers drop a cookie that is
   * too long, and with it the login: then it leaves out the section, or opens the home page.
   */
  flow(flow: Flow | undefined): string {
    const path = this.#prefix === '' ? FLOW_PATH : '/'
    if (flow === undefined) return this.#set(FLOW, '', path, 0)
    const opening = (next: string): string => {
      const value = Buffer.from(JSON.stringify({ ...flow, next })).toString('base64url')
      return this.#set(FLOW, value, path, FLOW_MAX_AGE_S)
    }
    const cookies = [flow.next, withoutSection(flow.next)].map(opening)
    return cookies.find(({ length }) => length <= MAX_COOKIE) ?? opening('/')
  }

  flowOf(request: IncomingMessage): Flow | undefined {
    return parseJson(flowSchema, Buffer.from(this.#read(request, FLOW) ?? '', 'base64url').toString())
  }

  /** Returns the browser's secret for logins to repository hosts, shared by all that are in progress. */
  secretOf(request: IncomingMessage): string | undefined {
    const secret = this.#read(request, SECRET)
    return secret !== undefined && isSessionId(secret) ? secret : undefined
  }

  createSecret(): string {
    return createSessionId()
  }

  secret(secret: string): string {
    return this.#set(SECRET, secret, '/', SECRET_MAX_AGE_S)
  }

  #read(request: IncomingMessage, name: string): string | undefined {
    const values = this.#valuesOf(request, name)
    return this.#domain !== undefined && values.length > 1 ? undefined : values[0]
  }

  #valuesOf({ headers: { cookie } }: IncomingMessage, name: string): readonly string[] {
    if (cookie === undefined) return []
    if (name !== SESSION || cookie.length > MAX_REMEMBERED) return parseValues(cookie, this.#prefix + name)
    let values = this.#sessions.get(cookie)
    if (values === undefined)
      this.#sessions.set(cookie, (values = parseValues(cookie, this.#prefix + SESSION)))
    return values
  }

  #set(name: string, value: string, path: string, maxAgeS: number): string {
    return [
      `${this.#prefix}${name}=${value}`,
      `Path=${path}`,
      `Max-Age=${maxAgeS}`,
      'HttpOnly',
      ...(this.#config.session.secure ? ['Secure'] : []),
      'SameSite=Lax',
    ].join('; ')
  }
}

/** Returns the distinct values of a cookie, in the browser's order. */
function parseValues(cookies: string, name: string): readonly string[] {
  const values: string[] = []
  for (const each of cookies.split(';')) {
    const at = each.indexOf('=')
    if (at === -1 || each.slice(0, at).trim() !== name) continue
    const value = each.slice(at + 1).trim()
    if (!values.includes(value)) values.push(value)
  }
  return values
}
