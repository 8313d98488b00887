import { expect, onTestFinished, test } from 'vitest'
import { machineRoots, vmServer, vmSettings } from '../../../../support/vm/vm-server.ts'
import { callStream, makeSandbox } from '../../../../support/workspace/client/e2b-client.ts'
import { call } from '../../../../support/workspace/server/test-server.ts'

test("E2B's pause saves the memory of a machine, and connecting continues its programs", async () => {
  const roots = machineRoots()
  onTestFinished(() => roots.remove())
  const settings = await vmSettings(roots)
  const server = await vmServer(roots, {
    ...settings,
    e2b: { enabled: true },
    // vhost-device-vsock cannot be suspended.
    qemu: { ...settings.qemu, accel: 'tcg', vhost_device_vsock: '/nonexistent' },
  })
  onTestFinished(() => server.stop())
  const sandbox = await makeSandbox(server.url, { envVars: { COLOR: 'blue' }, timeout: 3_600 })
  const own = `${server.url}/e2b/sandboxes/${sandbox['e2b-sandbox-id']}`
  onTestFinished(async () => void (await call(own, 'DELETE')))
  const inside = async (script: string): Promise<string> => {
    const message = { process: { cmd: '/bin/sh', args: ['-c', script] }, stdin: false }
    const messages = await callStream(server.url, 'process.Process/Start', message, sandbox)
    const output = messages.map(({ event }) => Buffer.from(event?.data?.stdout ?? '', 'base64').toString())
    return output.join('').trim()
  }
  expect(await inside('echo $COLOR')).toBe('blue')
  await inside(
    `nohup sh -c 'n=0; while :; do n=$((n+1)); echo $n > /dev/shm/n; sleep 0.2; done' >/dev/null 2>&1 &`,
  )
  const boot = await inside('cat /proc/sys/kernel/random/boot_id')
  const count = Number(await inside('sleep 1; cat /dev/shm/n'))

  expect(await call(`${own}/pause`, 'POST')).toMatchObject({ status: 204 })
  expect(await call(own)).toMatchObject({ body: { state: 'paused' } })
  expect(await call(`${own}/pause`, 'POST')).toMatchObject({ status: 409 })
  expect(await call(`${own}/connect`, 'POST', { timeout: 600 })).toMatchObject({ status: 200 })
  expect(await inside('cat /proc/sys/kernel/random/boot_id')).toBe(boot)
  expect(Number(await inside('cat /dev/shm/n'))).toBeGreaterThan(count)
})
