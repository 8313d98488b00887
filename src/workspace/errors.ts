import { defineFaults } from '../lib/errors/fault.ts'

/** Error codes of the workspace server's own routes; the shared ones are in lib/http/faults. */
export const WORKSPACE_CODES = {
  INVALID_WORKSPACE_NAME: 'invalid',
  INVALID_REPO_URL: 'invalid',
  INVALID_LOCAL_DIR: 'invalid',
  INVALID_REQUEST: 'invalid',
  INVALID_PORT: 'invalid',
  INVALID_ARCHIVE: 'invalid',
  INVALID_BODY: 'invalid',
  INVALID_NAMESPACE: 'invalid',
  MISSING_WORKSPACE: 'invalid',
  NAMESPACE_RESERVED: 'forbidden',
  PORT_DENIED: 'forbidden',
  ACCESS_DENIED: 'forbidden',
  QUOTA_EXCEEDED: 'forbidden',
  FILE_DENIED: 'forbidden',
  EGRESS_REFUSED: 'forbidden',
  WORKSPACE_NOT_FOUND: 'missing',
  USER_NOT_FOUND: 'missing',
  KEY_NOT_FOUND: 'missing',
  TOKEN_NOT_FOUND: 'missing',
  SESSION_NOT_FOUND: 'missing',
  IMAGE_NOT_FOUND: 'missing',
  SNAPSHOT_NOT_FOUND: 'missing',
  TEMPLATE_NOT_FOUND: 'missing',
  PROCESS_NOT_FOUND: 'missing',
  FILE_NOT_FOUND: 'missing',
  WORKSPACE_NOT_CONNECTED: 'missing',
  WORKSPACE_ALREADY_EXISTS: 'conflict',
  WORKSPACE_ALREADY_RUNNING: 'conflict',
  WORKSPACE_ALREADY_STOPPED: 'conflict',
  WORKSPACE_NOT_STOPPED: 'conflict',
  WORKSPACE_NOT_RUNNING: 'conflict',
  WORKSPACE_BUSY: 'conflict',
  USER_ALREADY_EXISTS: 'conflict',
  USER_OWNS_WORKSPACES: 'conflict',
  KEY_ALREADY_EXISTS: 'conflict',
  TEAM_FILE_DAMAGED: 'conflict',
  AUDIT_LOG_DAMAGED: 'conflict',
  IMAGE_IN_USE: 'conflict',
  SNAPSHOT_ALREADY_EXISTS: 'conflict',
  NAMESPACE_ALREADY_REGISTERED: 'conflict',
  SNAPSHOT_SOURCE_RUNNING: 'conflict',
  PROCESS_ENDED: 'conflict',
  FILE_CONFLICT: 'conflict',
  ARCHIVE_TOO_LARGE: 'too_large',
  CLONE_FAILED: 'internal',
  BACKEND_ERROR: 'internal',
  CONNECT_FAILED: 'upstream',
  EGRESS_SERVER_FAILED: 'upstream',
  EGRESS_CREDENTIAL_UNAVAILABLE: 'upstream',
  BACKEND_UNAVAILABLE: 'unavailable',
  REGISTRY_UNAVAILABLE: 'unavailable',
  PORT_UNAVAILABLE: 'unavailable',
  TOO_MANY_TERMINALS: 'unavailable',
  TOO_MANY_PROCESSES: 'unavailable',
  WAIT_TIMED_OUT: 'timeout',
  PRUNE_UNSUPPORTED: 'unsupported',
  SUSPEND_UNSUPPORTED: 'unsupported',
  RENAME_UNSUPPORTED: 'unsupported',
  FORK_UNSUPPORTED: 'unsupported',
  TEAM_DISABLED: 'unsupported',
  LOGIN_UNAVAILABLE: 'upstream',
  LOGIN_REFUSED: 'unauthorized',
  LOGIN_NOT_FOUND: 'missing',
  TOO_MANY_LOGINS: 'unavailable',
} as const

/** Creates an error with one of the server's codes. */
export const fault = defineFaults(WORKSPACE_CODES)

/** A restarting engine takes a few seconds. */
const RETRY_AFTER_S = 5

/** Creates the error for a backend that does not respond but may do so soon. */
export function unavailable(message: string, cause?: unknown) {
  return fault('BACKEND_UNAVAILABLE', message, cause, RETRY_AFTER_S)
}
