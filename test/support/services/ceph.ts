import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { toolEnvironment } from '../../../src/lib/process/tool-environment.ts'
import { waitFor } from '../wait-for.ts'
import { freePort } from './free-port.ts'

/** A real object store: Ceph's gateway over one in-memory daemon. */
export interface Ceph {
  readonly endpoint: string
  readonly bucket: string
  /** Runs radosgw-admin. */
  readonly administer: (...argv: readonly string[]) => void
  readonly stop: () => Promise<void>
}

const KEYS = { accessKeyId: 'TESTKEY', secretAccessKey: 'testsecret' }

/** Starts an object store, which takes about ten seconds, and sets its credentials in this process. */
export async function startCeph(memoryBytes = 2 ** 30): Promise<Ceph> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'ceph-')))
  const [monitorPort, port] = [await freePort(), await freePort()]
  for (const name of ['mon', 'osd']) mkdirSync(join(dir, name))
  const conf = join(dir, 'ceph.conf')
  const cluster = randomUUID()
  writeFileSync(conf, configOf(dir, cluster, monitorPort, port, memoryBytes))
  const env = toolEnvironment({ CEPH_CONF: conf })
  const call = (program: string, ...argv: readonly string[]): string =>
    execFileSync(program, argv, {
      env,
      cwd: dir,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 60_000,
    })
  const children: ChildProcess[] = []
  const start = (program: string, ...argv: readonly string[]): void =>
    void children.push(spawn(program, [...argv, '-f'], { env, cwd: dir, stdio: 'ignore' }))
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env
  const stop = async (): Promise<void> => {
    setEnvironment({ AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY })
    for (const child of children.toReversed()) {
      const exited = once(child, 'exit')
      if (child.exitCode === null && child.kill('SIGKILL')) await exited
    }
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    const keyring = join(dir, 'keyring')
    call('ceph-authtool', '--create-keyring', keyring, '--gen-key', '-n', 'mon.', '--cap', 'mon', 'allow *')
    for (const [who, mon, osd] of [
      ['client.admin', 'allow *', 'allow *'],
      ['client.rgw', 'allow rwx', 'allow rwx'],
      ['osd.0', 'allow profile osd', 'allow *'],
    ] as const)
      call('ceph-authtool', keyring, '--gen-key', '-n', who, '--cap', 'mon', mon, '--cap', 'osd', osd)
    call(
      'monmaptool',
      '--create',
      '--fsid',
      cluster,
      '--addv',
      'a',
      `[v2:127.0.0.1:${monitorPort}]`,
      'monmap',
    )
    call('ceph-mon', '--mkfs', '-i', 'a', '--monmap', 'monmap', '--keyring', keyring)
    start('ceph-mon', '-i', 'a')
    const osd = randomUUID()
    call('ceph', 'osd', 'new', osd)
    call('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', osd)
    start('ceph-osd', '-i', '0')
    start('radosgw', '-n', 'client.rgw')
    const endpoint = `http://127.0.0.1:${port}`
    await waitFor(
      'the gateway',
      async () => (await fetch(endpoint).catch(() => undefined)) !== undefined,
      90_000,
    )
    const administer = (...argv: readonly string[]): void => void call('radosgw-admin', ...argv)
    administer(
      'user',
      'create',
      '--uid=t',
      '--display-name=t',
      `--access-key=${KEYS.accessKeyId}`,
      `--secret-key=${KEYS.secretAccessKey}`,
    )
    const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials: KEYS })
    await client.send(new CreateBucketCommand({ Bucket: 'docs' }))
    client.destroy()
    setEnvironment({ AWS_ACCESS_KEY_ID: KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: KEYS.secretAccessKey })
    return { endpoint, bucket: 'docs', administer, stop }
  } catch (error) {
    const said = ['mon.a', 'osd.0', 'client.rgw'].map((name) => lastOf(join(dir, `${name}.log`)))
    await stop()
    throw new Error(`Ceph does not start: ${said.join('\n')}`, { cause: error })
  }
}

function setEnvironment(variables: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(variables))
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
}

function lastOf(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(-500)
  } catch {
    return ''
  }
}

function configOf(
  dir: string,
  cluster: string,
  monitorPort: number,
  port: number,
  memoryBytes: number,
): string {
  return `[global]
fsid = ${cluster}
mon host = [v2:127.0.0.1:${monitorPort}]
public addr = 127.0.0.1
keyring = ${dir}/keyring
run dir = ${dir}
admin socket =
log file = ${dir}/$name.log
pid file = ${dir}/$name.pid
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
osd objectstore = memstore
memstore device bytes = ${memoryBytes}
[mon.a]
mon data = ${dir}/mon
[osd.0]
osd data = ${dir}/osd
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${port} tcp_nodelay=1
rgw s3 auth use sts = true
rgw sts key = 0123456789abcdef
`
}
