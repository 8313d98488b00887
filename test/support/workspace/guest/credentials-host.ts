import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { compileCache } from '../../compile-cache.ts'
import { waitFor } from '../../wait-for.ts'

/** Keys of the user who owns the roles; they must not appear anywhere. */
export const SOURCE_KEY = 'CANARYSOURCEKEY00000'
/** Secret key that belongs to `SOURCE_KEY`. */
export const SOURCE_SECRET = 'canary/source/secret/000000000000000000'

/** Starts the host part of cloud credentials like a user does, and resolves once it listens. */
export async function startCredentialsHost(
  directory: string,
  serverUrl: string,
  stsUrl: string,
  cloud: Readonly<Record<string, unknown>>,
) {
  const config = join(directory, 'config.yaml')
  const credentials = join(directory, 'credentials')
  const settings = { server: { url: serverUrl }, cloud: { source_profile: 'source', ...cloud } }
  writeFileSync(config, JSON.stringify(settings))
  writeFileSync(
    credentials,
    `[source]\naws_access_key_id = ${SOURCE_KEY}\naws_secret_access_key = ${SOURCE_SECRET}\n`,
  )
  const program = join(packageRoot, 'src/bin/workspace-ext-cloud-credentials-host.ts')
  const child = spawn(process.execPath, [program, '--config', config], {
    env: {
      ...compileCache,
      PATH: process.env['PATH'],
      HOME: directory,
      AWS_SHARED_CREDENTIALS_FILE: credentials,
      AWS_ENDPOINT_URL_STS: stsUrl,
      // Differs from the profile's, which takes precedence.
      AWS_ACCESS_KEY_ID: 'NOTTHEPROFILES',
      AWS_SECRET_ACCESS_KEY: 'not the profile’s',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (log += text))
  await waitFor('the host’s part', () => log.includes('issuing cloud credentials'), 60_000)
  return { log: () => log, stop: () => void child.kill() }
}
