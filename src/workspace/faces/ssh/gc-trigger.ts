import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Each closed connection leaves about 20 KB of OpenSSL keys and ciphers behind objects that look small to V8, which would collect them
 * only after thousands of logins. Collecting after this many connections takes a few milliseconds.
 */
const CONNECTIONS = 200

/** Returns a function to call for each closed connection; every 200th call collects garbage. */
export function createGcTrigger(collect = collector()): () => void {
  let closed = 0
  return () => {
    closed += 1
    if (closed % CONNECTIONS === 0) collect()
  }
}

function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: { readonly type: 'major' }) => void
  // Otherwise contexts created later would expose gc too.
  setFlagsFromString('--no-expose-gc')
  return () => gc({ type: 'major' })
}
