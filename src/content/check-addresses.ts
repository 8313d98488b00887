import { isIP } from 'node:net'
import type { Settings } from './config-schema.ts'
import { networksMistake } from '../lib/http/proxy/client-address.ts'

const LABEL = '[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?'
const HOST = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`, 'i')

/**
 * Returns the first address or name in the settings that the server would ignore or honor only in part, as a sentence
 * with its key and the remedy.
 */
export function checkAddresses({ http, oidc, store, access }: Settings): string | undefined {
  return (
    listenMistake(http.host) ??
    publicUrlMistake(http.publicUrl) ??
    repoDomainMistake(http.repoDomain) ??
    firstOf(http.allowedHosts, allowedHostMistake) ??
    networksMistake('http.trusted_proxies', http.trustedProxies) ??
    issuerMistake(oidc?.issuer) ??
    plainUrlMistake('store.endpoint', store.endpoint) ??
    firstOf(oidc?.allowedDomains, (domain) => domainMistake('oidc.allowed_domains', domain)) ??
    firstOf(oidc?.allowedEmails, emailMistake) ??
    firstOf(access.rules, ({ emailDomains }, at) =>
      firstOf(emailDomains, (domain) => domainMistake(`access.rules.${at}.email_domains`, domain)),
    )
  )
}

function firstOf<T>(
  values: readonly T[] | undefined,
  mistakeOf: (value: T, at: number) => string | undefined,
): string | undefined {
  for (const [at, value] of (values ?? []).entries()) {
    const mistake = mistakeOf(value, at)
    if (mistake !== undefined) return mistake
  }
  return undefined
}

function publicUrlMistake(text: string | undefined): string | undefined {
  const mistake = urlMistake('http.public_url', text)
  if (text === undefined || mistake !== undefined) return mistake
  const { origin, pathname, search, hash, username, password } = new URL(text)
  if (pathname === '/' && search + hash + username + password === '') return undefined
  return `"http.public_url" must be ${origin}, without a path or anything else: the server's pages are at the root of a host; give it a separate host name`
}

function urlMistake(key: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const isHttp = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
  return isHttp ? undefined : `"${key}" must be a URL that begins with https:// or http://`
}

/** Mistake in a URL to which the server appends paths. */
function plainUrlMistake(key: string, text: string | undefined): string | undefined {
  const mistake = urlMistake(key, text)
  if (text === undefined || mistake !== undefined) return mistake
  const { origin, pathname, username, password } = new URL(text)
  if (username + password === '' && !/[?#]/.test(text)) return undefined
  return `"${key}" must not contain a user name, a query or a fragment; write ${origin}${pathname}`
}

/** The issuer may also be the address of its metadata, whose query selects a policy (Azure AD B2C). */
function issuerMistake(text: string | undefined): string | undefined {
  const mistake = plainUrlMistake('oidc.issuer', text)
  if (text === undefined || mistake === undefined || !URL.canParse(text)) return mistake
  const { pathname, search, username, password } = new URL(text)
  const isMetadata = pathname.endsWith('/.well-known/openid-configuration')
  return isMetadata && search !== '' && username + password === '' && !text.includes('#')
    ? undefined
    : mistake
}

function listenMistake(host: string): string | undefined {
  // Without a name it is every address.
  if (host === '' || isIP(host) !== 0 || HOST.test(host)) return undefined
  return `"http.host": "${host}" is not an address or host name; leave out the scheme and brackets, and put the port into "http.port"`
}

function repoDomainMistake(domain: string | undefined): string | undefined {
  const mistake = hostMistake('http.repo_domain', domain)
  if (domain === undefined || mistake !== undefined) return mistake
  if (URL.canParse(`http://repo.${domain}`)) return undefined
  return `"http.repo_domain": "${domain}" ends like an IP address, below which there are no hosts; use a domain, such as docs.example`
}

function hostMistake(key: string, name: string | undefined): string | undefined {
  if (name === undefined || HOST.test(name)) return undefined
  return `"${key}": "${name}" is not a host name; leave out the scheme, the port and the path`
}

function allowedHostMistake(name: string): string | undefined {
  if (name === '*' || isIP(name) !== 0) return undefined
  const mistake = hostMistake('http.allowed_hosts', name.replace(/^\*\./, ''))
  return mistake && hostMistake('http.allowed_hosts', name)
}

function domainMistake(key: string, domain: string): string | undefined {
  if (HOST.test(domain)) return undefined
  return `"${key}": "${domain}" is not the part of an address after "@", such as docs.example, so it never matches; list each domain`
}

function emailMistake(address: string): string | undefined {
  if (/^[^\s@*,;<>]+@[^\s@*,;<>]+$/.test(address)) return undefined
  return `"oidc.allowed_emails": "${address}" is not an email address, so it never matches; list each address, or put its domain into "oidc.allowed_domains"`
}
