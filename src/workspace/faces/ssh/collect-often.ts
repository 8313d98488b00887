import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Each closed connection leaves some 20 KB in keys and ciphers of OpenSSL, behind objects that look small to V8: left alone, it collects them
 * after thousands of logins. After so many, collecting takes a few milliseconds.
 */
const CONNECTIONS = 200

/** Collects garbage after every 200 calls, one for each connection that was closed. */
export function collectOften(collect = collector()): () => void {
  let closed = 0
  return () => {
    closed += 1
    if (closed % CONNECTIONS === 0) collect()
  }
}

function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: { readonly type: 'major' }) => void
  // Contexts that are made later, those of nobody here, would have it too.
  setFlagsFromString('--no-expose-gc')
  return () => gc({ type: 'major' })
}
