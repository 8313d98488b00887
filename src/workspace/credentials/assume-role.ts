import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts'
import { fromIni } from '@aws-sdk/credential-provider-ini'
import { messageOf } from '../../lib/errors/message.ts'
import { type Credentials, credentialFault } from './credentials.ts'
import { sessionName } from './session-name.ts'
import type { Clock } from '../../lib/clock/clock.ts'

const CONNECT_TIMEOUT_MS = 2_000
const REQUEST_TIMEOUT_MS = 8_000
const TIMEOUT_MS = 15_000
/** Where no profile and no variable names one; STS answers for all regions here. */
const DEFAULT_REGION = 'us-east-1'

/** Asks for credentials of a role. @throws ASSUME_ROLE_FAILED */
export type AssumeRole = (role: string, workspace: string) => Promise<Credentials>

/**
 * Assumes roles at AWS's Security Token Service, or what AWS_ENDPOINT_URL_STS names.
 *
 * @param sourceProfile of the user's credentials file; without one whatever the SDK finds, as other programs of AWS's do
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
        throw new Error('the answer holds no credentials')
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
