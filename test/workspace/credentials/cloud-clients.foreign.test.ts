import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveCredentials } from '../../../guest/cloud-credentials/proxy.ts'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'
import { type Ceph, startCeph } from '../../support/services/ceph.ts'
import {
  SOURCE_KEY,
  SOURCE_SECRET,
  startCredentialsHost,
} from '../../support/workspace/guest/credentials-host.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { type SimulatedGuest, startSimulatedGuest } from '../../support/workspace/guest/guest-simulator.ts'
import { awsCli, cloudPython } from '../../support/services/moto.ts'
import { makeTempDir } from '../../support/temp-dir.ts'
import { call, startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const USER = 'source'
const ROLE = 'arn:aws:iam:::role/everybody'
const TRUST = {
  Version: '2012-10-17',
  Statement: [
    { Effect: 'Allow', Principal: { AWS: [`arn:aws:iam:::user/${USER}`] }, Action: ['sts:AssumeRole'] },
  ],
}
const RIGHTS = {
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Action: ['s3:*'], Resource: 'arn:aws:s3:::*' }],
}
const PYTHON = `
import boto3, json
s3 = boto3.client('s3')
s3.put_object(Bucket='a-bucket', Key='by-python', Body=b'x')
print(json.dumps([each['Name'] for each in s3.list_buckets()['Buckets']]))`

describe('cloud credentials from Ceph with its own STS', () => {
  const directory = makeTempDir()
  const backend = new FakeBackend()
  let ceph: Ceph
  let server: TestServer
  let guest: SimulatedGuest
  let http: ReturnType<typeof serveCredentials>
  let host: Awaited<ReturnType<typeof startCredentialsHost>>
  let uri: string

  beforeAll(async () => {
    ceph = await startCeph()
    const keys = [`--access-key=${SOURCE_KEY}`, `--secret-key=${SOURCE_SECRET}`]
    ceph.administer('user', 'create', `--uid=${USER}`, '--display-name=source', ...keys)
    ceph.administer(
      'role',
      'create',
      '--role-name=everybody',
      `--assume-role-policy-doc=${JSON.stringify(TRUST)}`,
    )
    const policy = ['--policy-name=all', `--policy-doc=${JSON.stringify(RIGHTS)}`]
    ceph.administer('role-policy', 'put', '--role-name=everybody', ...policy)
    await client(awsCli, ['s3api', 'create-bucket', '--bucket', 'a-bucket'], {
      AWS_ACCESS_KEY_ID: SOURCE_KEY,
      AWS_SECRET_ACCESS_KEY: SOURCE_SECRET,
    })
    server = await startWorkspaceServer({ backends: () => [backend] })
    guest = await startSimulatedGuest(backend, 'demo')
    http = serveCredentials({ port: 0, agentUrl: new URL('/', guest.url).href })
    await once(http, 'listening')
    uri = `http://127.0.0.1:${(http.address() as AddressInfo).port}/credentials`
    host = await startCredentialsHost(directory.path, server.url, ceph.endpoint, { default_role: ROLE })
  }, 180_000)
  afterAll(async () => {
    host.stop()
    http.close()
    guest.close()
    await server.stop()
    await ceph.stop()
    directory.remove()
  })

  /** Runs a program inside that knows only the credentials endpoint. */
  async function client(
    program: string,
    argv: readonly string[],
    credentials: Readonly<Record<string, string>> = { AWS_CONTAINER_CREDENTIALS_FULL_URI: uri },
  ): Promise<string> {
    const environment = {
      PATH: process.env['PATH'],
      HOME: directory.path,
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_ENDPOINT_URL: ceph.endpoint,
      AWS_EC2_METADATA_DISABLED: 'true',
      ...credentials,
    }
    const { status, stdout, stderr } = await run(program, argv, { environment, cwd: packageRoot })
    if (status !== 0) throw new Error(stderr)
    return stdout
  }

  test('boto3 writes an object and lists buckets', async () => {
    expect(JSON.parse(await client(cloudPython, ['-c', PYTHON]))).toContain('a-bucket')
  })

  test('the AWS CLI lists buckets and objects', async () => {
    const { Buckets } = JSON.parse(await client(awsCli, ['s3api', 'list-buckets']))
    expect(Buckets.map(({ Name }: { Name: string }) => Name)).toContain('a-bucket')
    expect(await client(awsCli, ['s3', 'ls', 's3://a-bucket'])).toContain('by-python')
  })

  test('programs without the proxy get no credentials', async () => {
    await expect(client(awsCli, ['s3api', 'list-buckets'], {})).rejects.toThrow('credentials')
  })

  test('W12 no key, secret or token is in any log', async () => {
    const { body } = await call(uri)
    expect(body.AccessKeyId).not.toBe(SOURCE_KEY)
    for (const secret of [SOURCE_SECRET, SOURCE_KEY, body.SecretAccessKey, body.Token]) {
      expect(secret.length).toBeGreaterThan(10)
      expect(host.log()).not.toContain(secret)
      expect(server.log()).not.toContain(secret)
    }
  })
})
