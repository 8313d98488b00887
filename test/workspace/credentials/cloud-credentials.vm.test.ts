import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { GUEST_PYTHON, guestPythonArchive } from '../../support/vm/guest-python.ts'
import {
  SOURCE_KEY,
  SOURCE_SECRET,
  startCredentialsHost,
} from '../../support/workspace/guest/credentials-host.ts'
import { startMoto } from '../../support/services/moto.ts'
import { openSsh, type OpenSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { makeTempDir } from '../../support/temp-dir.ts'
import { machineRoots, vmServer } from '../../support/vm/vm-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { makeWorkspace, type TestServer } from '../../support/workspace/server/test-server.ts'

/** The host's address in user-mode networking. */
const HOST = '10.0.2.2'

describe('cloud credentials inside a virtual machine', () => {
  const roots = machineRoots()
  const directory = makeTempDir()
  let moto: Awaited<ReturnType<typeof startMoto>>
  let server: TestServer
  let host: Awaited<ReturnType<typeof startCredentialsHost>>
  let ssh: OpenSsh

  const inside = async (command: string, stdin = '') => {
    const { stdout, stderr } = await ssh.run('demo', command, { stdin })
    return `${stdout.toString()}${stderr}`.trim()
  }
  const extensions = async () => (await server.api('plugins/workspaces')).body.workspaces[0]?.extensions

  beforeAll(async () => {
    moto = await startMoto()
    await moto.makeBucket('a-bucket')
    server = await vmServer(roots, {
      qemu: { root: roots.root, accel: 'tcg' },
      extensions: { enabled: ['cloud-credentials'] },
      network: { allow_host_ports: [Number(new URL(moto.url).port)] },
    })
    host = await startCredentialsHost(directory.path, server.url, moto.url, {
      default_role: 'arn:aws:iam::123456789012:role/everybody',
    })
    ssh = await openSsh(server)
    await makeWorkspace(server.url, { name: 'demo' })
    await waitFor(
      'the extension',
      async () => {
        const [extension] = (await extensions()) ?? []
        return extension?.guest === 'running' && extension.host === 'connected'
      },
      120_000,
    )
  })
  afterAll(async () => {
    await server.api('workspaces/demo', 'DELETE').catch(() => undefined)
    ssh.remove()
    host.stop()
    moto.stop()
    await server.stop()
    roots.remove()
    directory.remove()
  })

  test('the agent starts the enabled extension with minimal privileges', async () => {
    expect(await extensions()).toEqual([
      { namespace: 'cloud-credentials', guest: 'running', host: 'connected' },
    ])
    const properties = await inside(
      'systemctl show -p User,DynamicUser,ActiveState,UnitFileState workspace-ext-cloud-credentials.service',
    )
    expect(properties).toContain('DynamicUser=yes')
    expect(properties).toContain('ActiveState=active')
    expect(properties).toContain('UnitFileState=enabled-runtime')
  })

  test('the environment names the endpoint, and curl gets credentials from it', async () => {
    expect(
      await inside('echo $AWS_CONTAINER_CREDENTIALS_FULL_URI $CLOUD_CONTAINER_CREDENTIALS_FULL_URI'),
    ).toBe('http://127.0.0.1:499/credentials http://127.0.0.1:499/credentials')
    const answer = JSON.parse(await inside('curl -sS $AWS_CONTAINER_CREDENTIALS_FULL_URI'))
    expect(Object.keys(answer)).toEqual(['AccessKeyId', 'SecretAccessKey', 'Token', 'Expiration'])
    expect(answer.AccessKeyId).not.toBe(SOURCE_KEY)
    for (const log of [host.log(), server.log(), await inside('sudo journalctl --no-pager')])
      for (const secret of [SOURCE_SECRET, answer.SecretAccessKey, answer.Token])
        expect(log).not.toContain(secret)
  })

  test('C4 requests to other hosts than the loopback address are refused', async () => {
    const ask =
      "curl -sS -o /dev/null -w '%{http_code}' -H 'Host: evil.example' http://127.0.0.1:499/credentials"
    expect(await inside(ask)).toBe('403')
  })

  test('AWS’s SDK gets the configured role with the workspace’s name and lists buckets', async () => {
    const bundle = await rolldown({
      input: join(packageRoot, 'test/support/workspace/guest/cloud-client.ts'),
      platform: 'node',
    })
    const { output } = await bundle.generate({ format: 'esm', codeSplitting: false })
    await bundle.close()
    const { port } = new URL(moto.url)
    const environment = `AWS_REGION=us-east-1 AWS_ENDPOINT_URL=http://${HOST}:${port}`
    // An emulated machine takes longer than a second, and the SDK warns about that on standard error.
    const { stdout, stderr } = await ssh.run(
      'demo',
      `${environment} /opt/workspace/node --input-type=module -`,
      {
        stdin: output[0].code,
      },
    )
    if (stdout.length === 0) throw new Error(stderr)
    expect(JSON.parse(stdout.toString())).toEqual({
      arn: expect.stringMatching(/:assumed-role\/everybody\/workspace-demo-\d{10}$/),
      buckets: ['a-bucket'],
    })
  })

  test('boto3 lists buckets', async () => {
    await ssh.run('demo', 'sudo tar -x -C /', { stdin: guestPythonArchive() })
    const { port } = new URL(moto.url)
    const environment = `AWS_DEFAULT_REGION=us-east-1 AWS_ENDPOINT_URL=http://${HOST}:${port}`
    const program = `
import boto3, json
print(json.dumps([boto3.client('sts').get_caller_identity()['Arn'], [each['Name'] for each in boto3.client('s3').list_buckets()['Buckets']]]))`
    const { stdout, stderr } = await ssh.run('demo', `${environment} ${GUEST_PYTHON} -`, { stdin: program })
    if (stdout.length === 0) throw new Error(stderr)
    expect(JSON.parse(stdout.toString())).toEqual([
      expect.stringMatching(/:assumed-role\/everybody\/workspace-demo-\d{10}$/),
      ['a-bucket'],
    ])
  })
})
