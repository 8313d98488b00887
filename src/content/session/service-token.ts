import type { Static } from 'typebox'
import { secretForm } from '../../lib/http/secret-form.ts'
import { Type } from '../../lib/schema/type.ts'
import { fault } from '../errors.ts'

const time = Type.Integer({ minimum: 0 })

/** Schema of a stored token. */
export const serviceTokenSchema = Type.Object({
  name: Type.String(),
  /** Names or patterns of the repositories that it reads. */
  repos: Type.Array(Type.String()),
  createdMs: time,
  expiresMs: time,
})

/** A program's access to some repositories, until it expires or is revoked. Its secret is not stored. */
export type ServiceToken = Readonly<Static<typeof serviceTokenSchema>>

const secret = secretForm('cst')
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const MAX_REPOS = 100
const MAX_PATTERN = 128
const MAX_MS = 3_650 * 86_400_000
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const NOT_IN_PATTERN = /[\u0000-\u001f\u007f\\/]/

/** Creates the secret of a token. */
export const createSecret = secret.create

/** Whether a text has the form of a secret. */
export const isSecret = secret.matches

/** Whether a text contains the secret of a token. */
export const hasSecret = secret.isIn

/**
 * Returns a token that starts now.
 *
 * @throws TOKEN_INVALID when its name, a repository or its lifetime is invalid
 */
export function createToken(
  { name, repos, lifetimeMs }: Pick<ServiceToken, 'name' | 'repos'> & { readonly lifetimeMs: number },
  nowMs: number,
): ServiceToken {
  if (!NAME.test(name))
    throw fault(
      'TOKEN_INVALID',
      `"${name}" is not a valid name of a token: use up to 128 letters, digits, ".", "_" and "-"`,
    )
  if (repos.length === 0 || repos.length > MAX_REPOS)
    throw fault('TOKEN_INVALID', `a token needs 1 to ${MAX_REPOS} repositories`)
  const wrong = repos.find((repo) => repo === '' || repo.length > MAX_PATTERN || NOT_IN_PATTERN.test(repo))
  if (wrong !== undefined)
    throw fault('TOKEN_INVALID', `"${wrong}" is not a valid name or pattern of repositories`)
  if (lifetimeMs <= 0 || lifetimeMs > MAX_MS)
    throw fault('TOKEN_INVALID', 'a token must expire within ten years, and not immediately')
  return { name, repos, createdMs: nowMs, expiresMs: nowMs + lifetimeMs }
}
