import type { AuthContext, Connection } from '../../../lib/ssh/ssh2.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { KeyRule } from './authorized-keys.ts'
import { fingerprintOf } from '../../../lib/ssh/fingerprint.ts'
import { readKey } from '../../../lib/ssh/public-key.ts'

const MAX_ATTEMPTS = 6
const LOGGED_NAME_LENGTH = 80

/** An authenticated user. */
export interface Login {
  /** The SSH user name, which is the workspace's name, exactly as the client sent it. */
  readonly user: string
  /** Fingerprint of the verified key. */
  readonly fingerprint: string
  readonly address: string
}

/** Codes of refused logins. */
export const LOGIN_REFUSALS = [
  'METHOD_NOT_ALLOWED',
  'KEY_NOT_ALLOWED',
  'KEY_UNSUPPORTED',
  'TOUCH_REQUIRED',
  'SIGNATURE_INVALID',
] as const

/** A refused login attempt. */
export interface LoginRefusal extends Omit<Login, 'fingerprint'> {
  readonly code: (typeof LOGIN_REFUSALS)[number]
}

type KeyContext = Extract<AuthContext, { method: 'publickey' }>

/**
 * Accepts a client that proves it owns an allowed key. ssh2 does not verify the signature itself; without this check a client
 * could log in under any fingerprint (threat S1). A connection without a verified key after six attempts is closed (S5); a
 * query for the available methods does not count as an attempt, and neither does the signature after its key was accepted.
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
  let accepted: Buffer | undefined
  connection.on('authentication', (context) => {
    if (context.method === 'publickey' && accepted?.equals(context.key.data) === true) accepted = undefined
    else if (context.method !== 'none') attempts += 1
    if (attempts > MAX_ATTEMPTS) {
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
    const { username, key, signature, blob } = context
    /** Refuses an attempt, which is not necessarily an attack. */
    const dismiss = (code: LoginRefusal['code'], reason?: string): void => {
      // Neither has the fingerprint: the client has not proven that it owns the key.
      if (reason !== undefined)
        logger.info({ workspace: shortened(username), address }, `SSH key refused: ${reason}`)
      refuse(username, code)
      context.reject(['publickey'])
    }
    const reading = readKey(key.algo, key.data)
    if (reading.is === 'unusable') return dismiss('KEY_UNSUPPORTED', reading.reason)
    const decision = await keyRule(key.data)
    if (decision.is === 'refused') return dismiss('KEY_NOT_ALLOWED', decision.reason)
    if (decision.is === 'unknown') return dismiss('KEY_NOT_ALLOWED')
    // A client first asks, without a signature, whether the key is acceptable.
    if (signature === undefined || blob === undefined) {
      accepted = Buffer.from(key.data)
      return context.accept()
    }
    const verdict = reading.key.verify(blob, signature, context.hashAlgo)
    if (verdict === 'untouched')
      return dismiss(
        'TOUCH_REQUIRED',
        `${key.algo} reports no touch: create the key without "-O no-touch-required"`,
      )
    if (verdict === 'invalid') {
      logger.warn({ address }, 'SSH key rejected: the signature is invalid')
      refuse(username, 'SIGNATURE_INVALID')
      return context.reject(['publickey'])
    }
    const login = { user: username, fingerprint: fingerprintOf(key.data), address }
    const { user: workspace, ...who } = login
    logger.info({ workspace: shortened(workspace), ...who }, 'SSH key verified')
    onVerified(login)
    context.accept()
  }
}

function shortened(name: string): string {
  return name.slice(0, LOGGED_NAME_LENGTH)
}
