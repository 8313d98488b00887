import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tempDir } from '../../support/temp-dir.ts'
import { machineRoots, vmServer, vmSettings } from '../../support/vm/vm-server.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startUpstream } from '../../support/workspace/server/egress-proxy.ts'
import { call } from '../../support/workspace/server/test-server.ts'

test('N4 a machine with an egress profile makes only the requests of its rules, also after a resume and in a fork', async () => {
  const upstream = await startUpstream()
  onTestFinished(() => upstream.close())
  const roots = machineRoots()
  onTestFinished(() => roots.remove())
  const caFile = join(tempDir(), 'ca.pem')
  const secretFile = join(tempDir(), 'secret')
  writeFileSync(caFile, upstream.authority.certificate)
  writeFileSync(secretFile, 'never-inside')
  const settings = await vmSettings(roots)
  const rule = {
    host: 'api.test',
    methods: ['GET'],
    credential: { secret: 'api' },
    upstream: `https://localhost:${upstream.port}`,
  }
  const server = await vmServer(roots, {
    ...settings,
    // vhost-device-vsock cannot be suspended.
    qemu: { ...settings.qemu, accel: 'tcg', vhost_device_vsock: '/nonexistent' },
    egress: {
      ca_file: caFile,
      secrets: { api: { file: secretFile } },
      profiles: { agents: { rules: [rule] } },
    },
  })
  onTestFinished(() => server.stop())
  const demo = `${server.url}/api/workspaces/demo`
  const network = { egress_profile: 'agents' }
  const created = await server.create({ name: 'demo', network })
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  onTestFinished(async () => void (await call(demo, 'DELETE')))
  const inside = async (line: string, of = demo): Promise<string> =>
    (await call(`${of}/exec`, 'POST', { argv: ['/bin/sh', '-c', line] })).body.stdout
  const request = (more = '', of = demo) =>
    inside(`curl -sS -m 20 -o /dev/null -w '%{http_code}' ${more} https://api.test/v1 2>&1`, of)

  expect([await request(), await request('-X DELETE')]).toEqual(['200', '403'])
  expect(await request("--noproxy '*'")).toMatch(/000$/)
  expect(upstream.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer never-inside'])

  expect((await call(`${demo}/suspend`, 'POST')).status).toBe(200)
  expect((await call(`${demo}/start`, 'POST')).status).toBe(200)
  await waitFor('the proxy', async () => (await request()) === '200')

  const fork = `${server.url}/api/workspaces/fork`
  onTestFinished(async () => void (await call(fork, 'DELETE')))
  expect(await call(`${demo}/fork`, 'POST', { names: ['fork'] })).toMatchObject({ body: { memory: true } })
  await waitFor('the proxy of the fork', async () => (await request('', fork)) === '200')
  expect(await request('-X DELETE', fork)).toBe('403')
  expect(
    (await call(`${fork}/egress`)).body.requests.map(({ outcome }: { outcome: string }) => outcome),
  ).toContain('refused')

  // Without a profile, a machine from a snapshot has no proxy.
  await call(`${demo}/stop`, 'POST')
  const snapshot = { name: 'kept', source_workspace: 'demo' }
  expect((await server.api('snapshots', 'POST', snapshot)).status).toBe(201)
  const plain = `${server.url}/api/workspaces/plain`
  onTestFinished(async () => void (await call(plain, 'DELETE')))
  const body = { name: 'plain', from_snapshot: 'kept' }
  expect((await server.create(body)).status).toBe(201)
  expect(await inside('echo "[$HTTPS_PROXY]"', plain)).toBe('[]\n')
})
