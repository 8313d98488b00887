import type { Fault } from '../../lib/errors/fault.ts'
import { credentialFault, type Credentials } from '../credentials/credentials.ts'

type Payload = Readonly<Record<string, unknown>>

/** Checks a request's operation, its only field that is used: a workspace cannot choose its role (threat C1). @throws INVALID_OPERATION */
export function checkOperation({ operation }: Payload): void {
  if (operation === 'get_credentials') return
  throw credentialFault('INVALID_OPERATION', 'operation must be get_credentials')
}

/** Encodes credentials. */
export function credentialsToWire(credentials: Credentials): Payload {
  return {
    access_key_id: credentials.accessKeyId,
    secret_access_key: credentials.secretAccessKey,
    session_token: credentials.sessionToken,
    expiration: credentials.expiration.toISOString(),
  }
}

/** Encodes an error in place of credentials. */
export function credentialErrorToWire({ code, message }: Fault): Payload {
  return { error: message, code }
}
