import type { AccessRule } from './access-rules.ts'

/** Facts about readers before any of them logs in. */
interface KnownReaders {
  /** Undefined if readers without a password can log in too. */
  readonly users: readonly string[] | undefined
  /** Whether readers can be in groups. */
  readonly hasGroups: boolean
}

/** Returns the first mistake in access rules that a schema cannot express, as a sentence. */
export function checkAccess(
  rules: readonly AccessRule[],
  { users, hasGroups }: KnownReaders,
): string | undefined {
  for (const [at, rule] of rules.entries()) {
    const key = `"access.rules.${at}"`
    const slashed = rule.repos.find((pattern) => pattern.includes('/'))
    if (slashed !== undefined)
      return `${key}: "${slashed}" is not a repository's name; rules apply to whole repositories`
    if (isOpen(rule) && (rule.public === rule.readers || namesAny(rule)))
      return `${key}: "public", "readers" and lists of readers are mutually exclusive`
    const unknown = users && rule.users?.find((user) => !users.includes(user))
    if (unknown !== undefined) return `${key}: user "${unknown}" is not in "users"`
    if (rule.groups !== undefined && !hasGroups)
      return `${key}: no reader has groups; set "groups" of a user, "oidc.groups_claim" or "header_auth.groups_header"`
    if (rules.slice(0, at).some(({ repos }) => repos.includes('*')))
      return `${key} is never used, because an earlier rule matches every repository`
  }
  return undefined
}

function isOpen(rule: AccessRule): boolean {
  return rule.public === true || rule.readers === true
}

function namesAny({ users = [], groups = [], emailDomains = [] }: AccessRule): boolean {
  return users.length + groups.length + emailDomains.length > 0
}
