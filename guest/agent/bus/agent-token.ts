import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** Gone with the machine, as the token is; root alone reads it. */
const FILE = '/run/workspace/agent-token'

/** What the host told an agent before this one, which ended; undefined when none was told anything. */
export function readAgentToken(): string | undefined {
  try {
    return readFileSync(FILE, 'utf8')
  } catch {
    return undefined
  }
}

export function keepAgentToken(token: string): void {
  mkdirSync(dirname(FILE), { recursive: true, mode: 0o755 })
  writeFileSync(`${FILE}.tmp`, token, { mode: 0o600 })
  renameSync(`${FILE}.tmp`, FILE)
}
