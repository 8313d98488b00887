import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'

/**
 * Below the ports that systems assign (Linux from 32768, others from 49152), so that none is taken between its release here and
 * its use; each process of a run has its part.
 */
const FIRST = 20_000 + 500 * (Number(process.env['VITEST_POOL_ID'] ?? 0) % 20)
const COUNT = 500
let used = 0

/** Returns a port of 127.0.0.1 for a program that must be given one; use port 0 where possible. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + (used++ % COUNT)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  if (isRemembered(port)) return false
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch {
    // Another program listens there.
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}

/**
 * Whether the kernel still has closed connections of a port (TIME_WAIT). Node.js listens there nevertheless; programs
 * that do not set SO_REUSEADDR cannot.
 */
function isRemembered(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  return ['/proc/net/tcp', '/proc/net/tcp6'].some(
    (file) =>
      existsSync(file) && new RegExp(`^ *\\d+: [0-9A-F]+:${hex} `, 'm').test(readFileSync(file, 'utf8')),
  )
}
