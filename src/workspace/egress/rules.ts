import { RE2JS } from 're2js'

/** A server that requests go to instead of the one they name. */
export interface UpstreamServer {
  readonly scheme: 'https' | 'http'
  readonly host: string
  readonly port: number
}

/** How a secret is added to a request. */
export type Credential =
  | { readonly is: 'bearer'; readonly secret: string }
  | { readonly is: 'basic'; readonly secret: string; readonly user: string }
  | { readonly is: 'header'; readonly secret: string; readonly header: string }

/** A rule that allows requests. */
export interface EgressRule {
  /** In lower case; `*.` in front stands for every name below. */
  readonly host: string
  readonly scheme: 'https' | 'http'
  readonly port: number
  /** Empty for all but those that no rule allows. */
  readonly methods: ReadonlySet<string>
  /** Empty for all. */
  readonly paths: readonly RE2JS[]
  readonly credential: Credential | undefined
  readonly upstream: UpstreamServer | undefined
}

/** A named set of rules. */
export interface EgressProfile {
  readonly name: string
  readonly rules: readonly EgressRule[]
  readonly environment: Readonly<Record<string, string>>
}

/** A server that a workspace asked for. */
export interface EgressTarget {
  readonly scheme: 'https' | 'http'
  /** In lower case, without a trailing dot. */
  readonly host: string
  readonly port: number
}

/** Why a request is refused. */
export type EgressRefusal = 'host' | 'method' | 'path' | 'ambiguous_path'

/** Methods that no rule allows: one opens tunnels, the others return the request with its credential. */
export const NEVER_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])
const MAX_DECODINGS = 4

/** Returns the rules for a server. */
export function rulesFor(
  { rules }: EgressProfile,
  { scheme, host, port }: EgressTarget,
): readonly EgressRule[] {
  return rules.filter((rule) => rule.scheme === scheme && rule.port === port && matchesHost(rule.host, host))
}

/**
 * Returns the first rule that allows a request, or why none does.
 *
 * @param target path and query as sent
 */
export function allowingRule(
  rules: readonly EgressRule[],
  method: string,
  target: string,
): EgressRule | EgressRefusal {
  if (rules.length === 0) return 'host'
  const [path = ''] = target.split('?', 1)
  const forMethod = rules.filter(({ methods }) =>
    methods.size === 0 ? !NEVER_METHODS.has(method) : methods.has(method),
  )
  if (forMethod.length === 0) return 'method'
  const isPlain = isUnambiguous(path)
  for (const rule of forMethod) {
    if (rule.paths.length === 0) return rule
    if (isPlain && rule.paths.some((pattern) => pattern.matches(path))) return rule
  }
  return isPlain ? 'path' : 'ambiguous_path'
}

function matchesHost(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern
}

/**
 * Returns whether a path means the same to every server: after any number of decodings, it has no segment that servers
 * resolve or drop.
 */
function isUnambiguous(path: string): boolean {
  let text = path
  for (let i = 0; i < MAX_DECODINGS; i++) {
    if (/[\\\0]|\/\/|;|(?:^|\/)\.{1,2}(?:\/|$)/.test(text)) return false
    const decoded = decode(text)
    if (decoded === undefined) return false
    if (decoded === text) return true
    text = decoded
  }
  return false
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Compiles a pattern of paths to a matcher that takes linear time, since paths come from the workspace. */
export function compilePath(pattern: string): RE2JS {
  const source = pattern
    .split(/(\*\*?)/)
    .map((part) => (part === '**' ? '.*' : part === '*' ? '[^/]*' : RE2JS.quote(part)))
    .join('')
  return RE2JS.compile(source, RE2JS.DOTALL)
}
