import type { Logger } from '../../../lib/log/logger.ts'
import type { ObjectCache } from '../../cache/object-cache.ts'
import type { ContentConfig } from '../../config.ts'
import type { ClientAddress } from '../../login/client-address.ts'
import type { OpenIdLogin } from '../../login/openid.ts'
import type { PasswordLogin } from '../../login/password-login.ts'
import type { PageFinder } from '../../page/find-page.ts'
import type { RepoList } from '../../repo/repo-list.ts'
import type { SiteSearch } from '../../search/site-search.ts'
import type { HandOver } from '../../session/hand-over.ts'
import type { Sessions } from '../../session/sessions.ts'
import type { Cookies } from './cookies.ts'
import type { RepoHosts } from './repo-hosts.ts'

/** What the routes work on. */
export interface ContentFace {
  readonly config: ContentConfig
  readonly version: string
  readonly cache: ObjectCache
  readonly finder: PageFinder
  readonly repos: RepoList
  readonly search: SiteSearch
  readonly sessions: Sessions
  readonly handOver: HandOver
  readonly cookies: Cookies
  readonly hosts: RepoHosts
  readonly passwords: PasswordLogin
  /** Undefined where there is no provider of single sign-on. */
  readonly openId: OpenIdLogin | undefined
  readonly addresses: ClientAddress
  /** Who did what; written whatever the log's level is. */
  readonly audit: Logger
  /** Forgets everything that the store has said. */
  readonly purge: () => void
}

/** Somebody who may read. */
export interface Reader {
  readonly user: string
  /** Undefined for who is named by a proxy. */
  readonly sessionId: string | undefined
}
