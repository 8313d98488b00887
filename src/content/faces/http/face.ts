import type { Clock } from '../../../lib/clock/clock.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { AccessRules } from '../../access/access-rules.ts'
import type { Grants } from '../../access/grants.ts'
import type { ReaderGrants } from '../../access/reader-grants.ts'
import type { ObjectCache } from '../../cache/object-cache.ts'
import type { ContentConfig } from '../../config.ts'
import type { ClientAddress } from '../../../lib/http/proxy/client-address.ts'
import type { OpenIdLogin } from '../../login/openid.ts'
import type { PasswordLogin } from '../../login/password-login.ts'
import type { MarkdownPages } from '../../markdown/markdown-pages.ts'
import type { PageFinder } from '../../page/find-page.ts'
import type { VersionPaths } from '../../page/version-path.ts'
import type { ReadLog } from '../../reads/read-log.ts'
import type { RepoList } from '../../repo/repo-list.ts'
import type { SiteSearch } from '../../search/site-search.ts'
import type { LoginHandoff } from '../../session/handoff.ts'
import type { ServiceTokens } from '../../session/service-tokens.ts'
import type { Sessions } from '../../session/sessions.ts'
import type { Cookies } from './cookies.ts'
import type { RepoHosts } from './repo-hosts.ts'

/** Services that the routes use. */
export interface ContentFace {
  readonly config: ContentConfig
  readonly version: string
  readonly clock: Clock
  readonly cache: ObjectCache
  readonly finder: PageFinder
  readonly markdown: MarkdownPages
  readonly versions: VersionPaths
  readonly repos: RepoList
  readonly search: SiteSearch
  readonly sessions: Sessions
  readonly tokens: ServiceTokens
  readonly rules: AccessRules
  readonly grants: ReaderGrants
  readonly handOver: LoginHandoff
  readonly cookies: Cookies
  readonly hosts: RepoHosts
  readonly passwords: PasswordLogin
  /** Undefined without single sign-on. */
  readonly openId: OpenIdLogin | undefined
  readonly addresses: ClientAddress
  /** Undefined if reads are not logged. */
  readonly reads: ReadLog | undefined
  /** Audit log, written at any log level. */
  readonly audit: Logger
  /** Purges all cached data of the store. */
  readonly purge: () => void
}

/** A reader: logged in, a program with a token, or a visitor of a public repository. */
export interface Reader {
  /** Empty if there is one shared password, and for programs and visitors. */
  readonly user: string
  /** Name of the token of a program. */
  readonly token?: string
  /** Undefined for a reader without a session here. */
  readonly sessionId: string | undefined
  readonly grants: Grants
}
