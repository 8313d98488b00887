import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveCredentials } from '../../../guest/cloud-credentials/proxy.ts'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'
import {
  SOURCE_KEY,
  SOURCE_SECRET,
  startCredentialsHost,
} from '../../support/workspace/guest/credentials-host.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { type SimulatedGuest, startSimulatedGuest } from '../../support/workspace/guest/guest-simulator.ts'
import { awsCli, cloudPython, startMoto } from '../../support/services/moto.ts'
import { recovery } from '../../support/recovery.ts'
import { makeTempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { call, startWorkspaceServer, type TestServer } from '../../support/workspace/server/test-server.ts'

const ROLE = 'arn:aws:iam::123456789012:role/everybody'
const OWN_ROLE = 'arn:aws:iam::123456789012:role/of-the-other'

const JAVASCRIPT = join(packageRoot, 'test/support/workspace/guest/cloud-client.ts')
const PYTHON = `
import boto3, json
arn = boto3.client('sts').get_caller_identity()['Arn']
buckets = boto3.client('s3').list_buckets()['Buckets']
print(json.dumps({'arn': arn, 'buckets': [each['Name'] for each in buckets]}))`

describe('cloud credentials, from a real STS to real SDKs', () => {
  const directory = makeTempDir()
  const backend = new FakeBackend()
  let moto: Awaited<ReturnType<typeof startMoto>>
  let server: TestServer
  let guests: readonly SimulatedGuest[]
  let proxies: readonly { readonly url: string; readonly http: Server }[]
  let host: Awaited<ReturnType<typeof startCredentialsHost>>

  beforeAll(async () => {
    moto = await startMoto()
    server = await startWorkspaceServer({
      backends: () => [backend],
      stateDir: join(directory.path, 'state'),
    })
    guests = await Promise.all(['demo', 'other'].map((name) => startSimulatedGuest(backend, name)))
    proxies = await Promise.all(guests.map((guest) => startProxy(guest)))
    const roles = { default_role: ROLE, workspaces: { other: { role: OWN_ROLE } } }
    host = await startCredentialsHost(directory.path, server.url, moto.url, roles)
    await moto.makeBucket('a-bucket')
  }, 120_000)
  afterAll(async () => {
    host.stop()
    for (const { http } of proxies) http.close()
    for (const guest of guests) guest.close()
    moto.stop()
    await server.stop()
    directory.remove()
  })

  async function startProxy({ url }: SimulatedGuest) {
    const http = serveCredentials({ port: 0, agentUrl: new URL('/', url).href })
    await once(http, 'listening')
    return { http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/credentials` }
  }

  const proxyOf = (index: number) => proxies[index]?.url ?? ''
  const client = async (program: string, argv: readonly string[], uri: string) => {
    const environment = {
      PATH: process.env['PATH'],
      HOME: directory.path,
      AWS_REGION: 'us-east-1',
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_ENDPOINT_URL: moto.url,
      AWS_CONTAINER_CREDENTIALS_FULL_URI: uri,
    }
    const { stdout, stderr } = await run(program, argv, { environment, cwd: packageRoot })
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout)
  }
  type Seen = { readonly arn: string; readonly buckets: readonly string[] }
  const javascript = (uri: string): Promise<Seen> => client(process.execPath, [JAVASCRIPT], uri)
  const python = (uri: string): Promise<Seen> => client(cloudPython, ['-c', PYTHON], uri)

  test('C3 a thousand concurrent requests cause one AssumeRole call', async () => {
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => call(proxyOf(0))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.AccessKeyId)).size).toBe(1)
    expect(moto.stsCalls()).toBe(1)
  })

  test('C2 the SDK for JavaScript gets the configured role and the workspace’s name as session', async () => {
    const { arn, buckets } = await javascript(proxyOf(0))
    expect(arn).toMatch(/^arn:aws:sts::123456789012:assumed-role\/everybody\/workspace-demo-\d{10}$/)
    expect(buckets).toEqual(['a-bucket'])
  })

  test('boto3 gets the configured role and lists buckets', async () => {
    const { arn, buckets } = await python(proxyOf(0))
    expect(arn).toMatch(/:assumed-role\/everybody\/workspace-demo-\d{10}$/)
    expect(buckets).toEqual(['a-bucket'])
  })

  test('the AWS CLI gets the configured role', async () => {
    const { Arn: arn } = await client(awsCli, ['sts', 'get-caller-identity'], proxyOf(0))
    expect(arn).toMatch(/:assumed-role\/everybody\/workspace-demo-\d{10}$/)
  })

  test('C1 a workspace with its own role gets only that role', async () => {
    expect((await javascript(proxyOf(1))).arn).toMatch(/:assumed-role\/of-the-other\/workspace-other-\d{10}$/)
  })

  test('a cached response needs no call', async () => {
    const before = moto.stsCalls()
    for (let i = 0; i < 50; i++) expect((await call(proxyOf(0))).status).toBe(200)
    expect(moto.stsCalls()).toBe(before)
  })

  test('F19 the host extension reconnects to a restarted server', async (context) => {
    const port = server.httpPort
    const { stateDir } = server
    for (const guest of guests) guest.lose()
    await server.stop()
    server = await startWorkspaceServer({
      backends: () => [backend],
      stateDir,
      settings: { http: { port } },
    })
    for (const guest of guests) guest.find()
    await recovery(context, async () => {
      await expect.poll(async () => (await call(proxyOf(0))).status, { timeout: 60_000 }).toBe(200)
    })
  })

  test('F21 without STS, cached credentials are served and other requests fail with an error', async () => {
    moto.stop()
    expect((await call(proxyOf(0))).status).toBe(200)
    const third = await startSimulatedGuest(backend, 'third')
    const proxy = await startProxy(third)
    const answered = await waitForAnswer(proxy.url)
    expect(answered).toMatchObject({ status: 502, body: { code: 'ASSUME_ROLE_FAILED' } })
    proxy.http.close()
    third.close()
  })

  /** Waits, since the agent may still be connecting. */
  async function waitForAnswer(url: string) {
    let answer = await call(url)
    await waitFor('a response from the host', async () => {
      answer = await call(url)
      return answer.status !== 503 && answer.status !== 504
    })
    return answer
  }

  test('W12 no key, secret or token is in any log', async () => {
    const { body } = await call(proxyOf(0))
    const secrets = [SOURCE_SECRET, SOURCE_KEY, body.SecretAccessKey, body.Token]
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(10)
      expect(host.log()).not.toContain(secret)
      expect(server.log()).not.toContain(secret)
    }
  })
})
