import ssh2, { type AuthContext, type Connection } from 'ssh2'
import type { Logger } from '../../../lib/log/logger.ts'
import { fingerprintOf } from './host-key.ts'

const MAX_TRIES = 6

/**
 * Lets in whoever proves to own the key they offer, whichever key that is. ssh2 does not verify the signature itself;
 * without this the logged fingerprint could be anybody's (threat S1). A connection that has not proven one within six
 * tries is closed (S5); asking which methods there are is no try.
 */
export function authenticate(connection: Connection, address: string, logger: Logger): void {
  let tries = 0
  connection.on('authentication', (context) => {
    if (context.method !== 'none' && ++tries > MAX_TRIES) {
      connection.end()
      return
    }
    if (context.method !== 'publickey') return context.reject(['publickey'])
    // The client first asks whether the key would do, without signing.
    if (context.signature === undefined) return context.accept()
    if (!ownsKey(context)) {
      logger.warn({ address }, 'an SSH client offered a key and did not prove that it owns it')
      return context.reject(['publickey'])
    }
    const fingerprint = fingerprintOf(context.key.data)
    logger.info({ workspace: context.username.slice(0, 80), fingerprint, address }, 'SSH key verified')
    context.accept()
  })
}

function ownsKey(context: Extract<AuthContext, { method: 'publickey' }>): boolean {
  const key = ssh2.utils.parseKey(`${context.key.algo} ${context.key.data.toString('base64')}`)
  if (key instanceof Error || context.blob === undefined || context.signature === undefined) return false
  // A key that cannot be computed with makes ssh2 return the error instead of throwing it.
  const isVerified: unknown = key.verify(context.blob, context.signature, context.hashAlgo)
  return isVerified === true
}
