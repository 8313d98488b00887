import { createRequire } from 'node:module'

/** Whether ssh2's compiled ciphers are there. It works without them, at a fifth to half the speed, and says nothing. */
export function hasNativeSshCrypto(): boolean {
  const crypto = createRequire(import.meta.url)('ssh2/lib/protocol/crypto.js') as {
    bindingAvailable: boolean
  }
  return crypto.bindingAvailable
}

/** What to do where they are not. */
export const SSH_CRYPTO_REMEDY = 'npm rebuild ssh2, with its install script allowed and a compiler installed'
