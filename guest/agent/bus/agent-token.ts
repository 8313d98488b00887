import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** File of the token, deleted with the machine and readable only by root. */
const FILE = '/run/workspace/agent-token'

/** Returns the token that the host gave an earlier agent of this boot; undefined if there is none. */
export function readAgentToken(): string | undefined {
  try {
    return readFileSync(FILE, 'utf8')
  } catch {
    return undefined
  }
}

/** Stores the agent's bus token for the next start, readable only by root. */
export function keepAgentToken(token: string): void {
  mkdirSync(dirname(FILE), { recursive: true, mode: 0o755 })
  writeFileSync(`${FILE}.tmp`, token, { mode: 0o600 })
  renameSync(`${FILE}.tmp`, FILE)
}
