import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts'
import { fromIni } from '@aws-sdk/credential-provider-ini'
import { messageOf } from '../../lib/errors/message.ts'
import { type Credentials, credentialFault } from './credentials.ts'
import { sessionName } from './session-name.ts'
import type { Clock } from '../../lib/clock/clock.ts'

const CONNECT_TIMEOUT_MS = 2_000
const REQUEST_TIMEOUT_MS = 8_000
const TIMEOUT_MS = 15_000
/** Region used when neither a profile nor a variable names one; STS in it serves all regions. */
const DEFAULT_REGION = 'us-east-1'

/** Requests credentials of a role. @throws ASSUME_ROLE_FAILED when the request fails */
export type AssumeRole = (role: string, workspace: string) => Promise<Credentials>

/**
 * Returns a function that assumes roles at AWS's Security Token Service, or at AWS_ENDPOINT_URL_STS.
 *
 * @param sourceProfile profile of the user's credentials file; without one the SDK's default chain is used
 */
export async function stsAssumeRole(
  sourceProfile: string | undefined,
  sessionDurationMs: number,
  clock: Clock,
): Promise<AssumeRole> {
  const client = await openClient(sourceProfile)
  return async (role, workspace) => {
    const command = new AssumeRoleCommand({
      RoleArn: role,
      RoleSessionName: sessionName(workspace, new Date(clock.wallMs())),
      DurationSeconds: Math.floor(sessionDurationMs / 1000),
    })
    try {
      const { Credentials: given } = await client.send(command, {
        abortSignal: AbortSignal.timeout(TIMEOUT_MS),
      })
      const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = given ?? {}
      if (!AccessKeyId || !SecretAccessKey || !SessionToken || Expiration === undefined)
        throw new Error('the response contains no credentials')
      return {
        accessKeyId: AccessKeyId,
        secretAccessKey: SecretAccessKey,
        sessionToken: SessionToken,
        expiration: Expiration,
      }
    } catch (error) {
      throw credentialFault(
        'ASSUME_ROLE_FAILED',
        `role ${role} could not be assumed for workspace "${workspace}": ${messageOf(error)}`,
        error,
      )
    }
  }
}

async function openClient(profile: string | undefined): Promise<STSClient> {
  const settings = {
    ...(profile !== undefined && { profile, credentials: fromIni({ profile }) }),
    maxAttempts: 2,
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
  }
  const client = new STSClient(settings)
  try {
    await client.config.region()
    return client
  } catch {
    client.destroy()
    return new STSClient({ ...settings, region: DEFAULT_REGION })
  }
}
