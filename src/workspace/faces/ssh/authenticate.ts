import ssh2, { type AuthContext, type Connection } from '../../../lib/ssh/ssh2.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import type { KeyRule } from './authorized-keys.ts'
import { fingerprintOf } from './host-key.ts'

const MAX_TRIES = 6

/** Who has logged in. */
export interface Login {
  /** The user name, which is the workspace's; as the client wrote it. */
  readonly user: string
  /** Of the key that its owner has proven to hold. */
  readonly fingerprint: string
  readonly address: string
}

export const LOGIN_REFUSALS = ['METHOD_NOT_ALLOWED', 'KEY_NOT_ALLOWED', 'SIGNATURE_INVALID'] as const

/** Why somebody who tried to log in was not let in. */
export interface LoginRefusal extends Omit<Login, 'fingerprint'> {
  readonly code: (typeof LOGIN_REFUSALS)[number]
}

type KeyContext = Extract<AuthContext, { method: 'publickey' }>

/**
 * Lets in whoever proves to own the key they offer, whichever key that is. ssh2 does not verify the signature itself;
 * without this the logged fingerprint could be anybody's (threat S1). A connection that has not proven one within six
 * tries is closed (S5); asking which methods there are is no try.
 */
export function authenticate(
  connection: Connection,
  address: string,
  keyRule: KeyRule,
  logger: Logger,
  onVerified: (login: Login) => void,
  onRefused: (refusal: LoginRefusal) => void,
): void {
  let tries = 0
  connection.on('authentication', (context) => {
    if (context.method !== 'none' && ++tries > MAX_TRIES) {
      connection.end()
      return
    }
    if (context.method !== 'publickey') {
      if (context.method !== 'none') refuse(context.username, 'METHOD_NOT_ALLOWED')
      return context.reject(['publickey'])
    }
    void decide(context).catch((error: unknown) => {
      logger.error({ err: error, address }, 'SSH authentication')
      context.reject()
    })
  })

  const refuse = (user: string, code: LoginRefusal['code']): void => onRefused({ user, address, code })

  const decide = async (context: KeyContext): Promise<void> => {
    const isAllowed = await keyRule(context.key.data)
    // The key is not named: that the client has it was not shown.
    if (!isAllowed) refuse(context.username, 'KEY_NOT_ALLOWED')
    // The client first asks whether the key would do, without signing.
    if (context.signature === undefined) return isAllowed ? context.accept() : context.reject(['publickey'])
    if (!ownsKey(context)) {
      logger.warn({ address }, 'an SSH client offered a key and did not prove that it owns it')
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
  // A key that cannot be computed with makes ssh2 return the error instead of throwing it.
  const isVerified: unknown = key.verify(context.blob, context.signature, context.hashAlgo)
  return isVerified === true
}
