import { readFile } from 'node:fs/promises'
import { messageOf } from '../../lib/errors/message.ts'
import { plainName } from '../../lib/http/proxy/end-to-end.ts'
import type { HeaderPairs } from '../../lib/http/proxy/header-pairs.ts'
import { fault } from '../errors.ts'
import type { Credential } from './rules.ts'
import type { SecretSource } from './settings.ts'

const MAX_BYTES = 16_384
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/**
 * Returns headers with a credential in place of the workspace's own.
 *
 * @throws EGRESS_CREDENTIAL_UNAVAILABLE when the secret cannot be read
 */
export async function withCredential(
  headers: HeaderPairs,
  credential: Credential,
  secrets: ReadonlyMap<string, SecretSource>,
): Promise<HeaderPairs> {
  const value = await readSecret(credential.secret, secrets)
  const header = credential.is === 'header' ? credential.header : 'authorization'
  return [
    ...headers.filter(([name]) => plainName(name) !== plainName(header)),
    [header, valueOf(credential, value)],
  ]
}

function valueOf(credential: Credential, value: string): string {
  if (credential.is === 'header') return value
  if (credential.is === 'bearer') return `Bearer ${value}`
  return `Basic ${Buffer.from(`${credential.user}:${value}`).toString('base64')}`
}

/** Reads a secret, from its file at each use: a new one applies without a restart. */
async function readSecret(name: string, secrets: ReadonlyMap<string, SecretSource>): Promise<string> {
  const source = secrets.get(name)
  if (source === undefined) throw unusable(name, 'it is not configured')
  let value: string
  try {
    value = source.is === 'value' ? source.value : (await readFile(source.path, 'utf8')).trim()
  } catch (error) {
    throw unusable(name, messageOf(error), error)
  }
  if (value.length > MAX_BYTES || !VALUE.test(value))
    throw unusable(name, 'it is empty or not one line of ASCII text')
  return value
}

function unusable(name: string, why: string, cause?: unknown) {
  return fault(
    'EGRESS_CREDENTIAL_UNAVAILABLE',
    `the secret "${name}" of the egress proxy cannot be used: ${why}`,
    cause,
  )
}
