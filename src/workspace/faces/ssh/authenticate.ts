import ssh2, { type AuthContext, type Connection } from '../../../lib/ssh/ssh2.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { KeyRule } from './authorized-keys.ts'
import { fingerprintOf } from '../../../lib/ssh/fingerprint.ts'

const MAX_ATTEMPTS = 6

/** An authenticated user. */
export interface Login {
  /** The SSH user name, which is the workspace's name, exactly as the client sent it. */
  readonly user: string
  /** Fingerprint of the verified key. */
  readonly fingerprint: string
  readonly address: string
}

/** Codes of refused logins. */
export const LOGIN_REFUSALS = ['METHOD_NOT_ALLOWED', 'KEY_NOT_ALLOWED', 'SIGNATURE_INVALID'] as const

/** A refused login attempt. */
export interface LoginRefusal extends Omit<Login, 'fingerprint'> {
  readonly code: (typeof LOGIN_REFUSALS)[number]
}

type KeyContext = Extract<AuthContext, { method: 'publickey' }>

/**
 * Accepts a client that proves it owns an allowed key. ssh2 does not verify the signature itself; without this check a client
 * could log in under any fingerprint (threat S1). A connection without a verified key after six attempts is closed (S5); a
 * query for the available methods does not count as an attempt.
 */
export function authenticate(
  connection: Connection,
  address: string,
  keyRule: KeyRule,
  logger: Logger,
  onVerified: (login: Login) => void,
  onRefused: (refusal: LoginRefusal) => void,
): void {
  let attempts = 0
  connection.on('authentication', (context) => {
    if (context.method !== 'none' && ++attempts > MAX_ATTEMPTS) {
      connection.end()
      return
    }
    if (context.method !== 'publickey') {
      if (context.method !== 'none') refuse(context.username, 'METHOD_NOT_ALLOWED')
      return context.reject(['publickey'])
    }
    void decide(context).catch((error: unknown) => {
      logger.error({ err: error, address }, 'SSH authentication failed')
      context.reject()
    })
  })

  const refuse = (user: string, code: LoginRefusal['code']): void => onRefused({ user, address, code })

  const decide = async (context: KeyContext): Promise<void> => {
    const isAllowed = await keyRule(context.key.data)
    // The refusal omits the fingerprint: the client has not proven that it owns the key.
    if (!isAllowed) refuse(context.username, 'KEY_NOT_ALLOWED')
    // A client first asks, without a signature, whether the key is acceptable.
    if (context.signature === undefined) return isAllowed ? context.accept() : context.reject(['publickey'])
    if (!ownsKey(context)) {
      logger.warn({ address }, 'SSH key rejected: the signature is invalid')
      refuse(context.username, 'SIGNATURE_INVALID')
      return context.reject(['publickey'])
    }
    if (!isAllowed) return context.reject(['publickey'])
    const login = { user: context.username, fingerprint: fingerprintOf(context.key.data), address }
    const { user: workspace, ...who } = login
    logger.info({ workspace: workspace.slice(0, 80), ...who }, 'SSH key verified')
    onVerified(login)
    context.accept()
  }
}

function ownsKey(context: KeyContext): boolean {
  const key = ssh2.utils.parseKey(`${context.key.algo} ${context.key.data.toString('base64')}`)
  if (key instanceof Error || context.blob === undefined || context.signature === undefined) return false
  // For an unusable key ssh2 returns the error instead of throwing it.
  const isVerified: unknown = key.verify(context.blob, context.signature, context.hashAlgo)
  return isVerified === true
}
