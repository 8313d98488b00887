import { defineFaults } from '../../lib/errors/fault.ts'

/** Short-lived credentials of a role. */
export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string
  readonly expiration: Date
}

/** Error codes that a workspace can receive instead of credentials. */
export const CREDENTIAL_CODES = {
  INVALID_OPERATION: 'invalid',
  NO_ROLE: 'forbidden',
  ASSUME_ROLE_FAILED: 'upstream',
} as const

/** Creates an error with one of the credential codes. */
export const credentialFault = defineFaults(CREDENTIAL_CODES)
