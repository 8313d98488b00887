import { createHash } from 'node:crypto'

/**
 * Maximum length of RoleSessionName: 2 to 64 of `[\w+=,.@-]`. Source: AssumeRole in the STS API reference.
 */
const MAX_LENGTH = 64
const HASH_LENGTH = 8

/**
 * Returns `workspace-<name>-<unix seconds>`, which identifies the workspace in the cloud's audit logs. A name
 * that is too long is truncated and made unique by a hash of the whole name (threat C2).
 */
export function sessionName(workspace: string, now: Date): string {
  const time = String(Math.floor(now.getTime() / 1000))
  const whole = `workspace-${workspace}-${time}`
  if (whole.length <= MAX_LENGTH) return whole
  const hash = createHash('sha256').update(workspace.toLowerCase()).digest('hex').slice(0, HASH_LENGTH)
  const tail = `-${hash}-${time}`
  return `workspace-${workspace}`.slice(0, MAX_LENGTH - tail.length) + tail
}
