import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { findMachine } from '../../../src/workspace/backend/microvm/stray-machines.ts'
import { serve } from '../../support/served.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { COUNT, runInside } from '../../support/vm/run-inside.ts'
import { machineRoots, vmServer, vmSettings } from '../../support/vm/vm-server.ts'
import { waitClosely, waitFor } from '../../support/wait-for.ts'
import { openSsh } from '../../support/workspace/ssh/open-ssh.ts'
import { expectError } from '../../support/workspace/server/expect-error.ts'
import { call, makeWorkspace } from '../../support/workspace/server/test-server.ts'

/** A VM with a serial line: vhost-device-vsock cannot be suspended. */
const SERIAL = { qemu: { accel: 'tcg', vhost_device_vsock: '/nonexistent' } }

type Roots = ReturnType<typeof machineRoots>

function freshRoots(): Roots {
  const roots = machineRoots()
  onTestFinished(() => roots.remove())
  return roots
}

async function settingsOf(roots: Roots) {
  const settings = await vmSettings(roots)
  return { ...settings, qemu: { ...settings.qemu, ...SERIAL.qemu } }
}

const memoryOf = (roots: Roots) => join(roots.root, 'instances/demo/memory')

describe('a suspended VM', () => {
  test('continues its programs and their connections with the right time, or boots once its memory is discarded', async () => {
    const roots = freshRoots()
    const server = await vmServer(roots, await settingsOf(roots))
    onTestFinished(() => server.stop())
    const ssh = await openSsh(server)
    onTestFinished(() => ssh.remove())
    const demo = `${server.url}/api/workspaces/demo`
    await makeWorkspace(server.url, { name: 'demo' })
    onTestFinished(async () => void (await call(demo, 'DELETE')))
    const inside = async (command: string) =>
      (await ssh.run('demo', command, { stdin: '' })).stdout.toString().trim()
    const bootId = () => inside('cat /proc/sys/kernel/random/boot_id')
    const firstBoot = await bootId()
    await inside(COUNT)
    await inside('tmux new-session -d -s kept "cat"; echo unsynced > /workspace/file')
    const count = Number(await inside('cat /dev/shm/n'))
    const held = spawn('ssh', [...ssh.argv('demo'), 'cat; exit 7'], { stdio: ['pipe', 'pipe', 'inherit'] })
    const heldOutput = text(held.stdout)
    held.stdin.write('before ')
    await waitFor('the held program', async () => (await inside('pgrep -c cat')) !== '0')

    const suspended = await call(`${demo}/suspend`, 'POST')
    expect(suspended).toMatchObject({ status: 200, body: { status: 'suspended' } })
    expect(suspended.body).not.toHaveProperty('pid')
    expect(await findMachine({ disk: join(roots.root, 'uppers/demo/upper.ext4') })).toEqual([])
    // Free pages take no space.
    expect(statSync(memoryOf(roots)).size).toBeLessThan(450 * 2 ** 20)
    expect(statSync(memoryOf(roots)).mode & 0o777).toBe(0o600)
    const { body: report } = await server.api('system/df')
    expect(report.workspaces[0].other_files.map(({ kind }: { kind: string }) => kind)).toContain('memory')
    expectError(await call(`${demo}/suspend`, 'POST'), 409, 'WORKSPACE_NOT_RUNNING')
    const refused = await ssh.run('demo', 'true', { stdin: '' })
    expect(refused.stderr).toContain('is suspended')

    expect(await call(`${demo}/start`, 'POST')).toMatchObject({ status: 200, body: { status: 'running' } })
    expect(existsSync(memoryOf(roots))).toBe(false)
    held.stdin.end('after')
    expect(await heldOutput).toBe('before after')
    if (held.exitCode === null) await once(held, 'exit')
    expect(held.exitCode).toBe(7)
    expect(await bootId()).toBe(firstBoot)
    expect(Number(await inside('cat /dev/shm/n'))).toBeGreaterThan(count)
    expect(await inside('tmux list-sessions -F "#S"; cat /workspace/file')).toBe('kept\nunsynced')
    const clock = Number(await inside('date +%s')) * 1000
    expect(Math.abs(clock - Date.now())).toBeLessThan(10_000)

    await call(`${demo}/suspend`, 'POST')
    truncateSync(memoryOf(roots), 1000)
    const broken = await call(`${demo}/start`, 'POST')
    expectError(broken, 500, 'BACKEND_ERROR')
    expect(broken.body.error.message).toContain('workspace stop demo')
    expect((await call(demo)).body.status).toBe('suspended')
    expect(await call(`${demo}/stop`, 'POST')).toMatchObject({ status: 200, body: { status: 'stopped' } })
    expect(existsSync(memoryOf(roots))).toBe(false)
    await call(`${demo}/start`, 'POST')
    expect(await bootId()).not.toBe(firstBoot)
  })

  test('is either running or suspended after the server was killed at any step', async () => {
    const roots = freshRoots()
    const stateDir = join(tempDir(), 'state')
    const settings = await settingsOf(roots)
    let server = await serve({ stateDir, settings })
    const demo = () => `${server.url}/api/workspaces/demo`
    await makeWorkspace(server.url, { name: 'demo' })
    const exec = (command: string) => runInside(demo(), command)
    await exec(COUNT)
    let count = Number(await exec('sleep 1; cat /dev/shm/n'))
    const metadata = () => JSON.parse(readFileSync(join(roots.root, 'instances/demo/metadata.json'), 'utf8'))
    const steps: readonly (readonly ['suspend' | 'start', string, () => boolean])[] = [
      ['suspend', 'at its start', () => existsSync(memoryOf(roots))],
      ['suspend', 'at half', () => existsSync(memoryOf(roots)) && statSync(memoryOf(roots)).size > 1e7],
      ['suspend', 'when it is recorded', () => metadata().memory != null],
      ['start', 'at its start', () => metadata().run === null],
      ['start', 'when it is recorded', () => metadata().run !== null],
    ]
    for (const [action, step, isThere] of steps) {
      const before = (await call(demo())).body.status
      if (action === 'start' && before === 'running') await call(`${demo()}/suspend`, 'POST')
      if (action === 'suspend' && before === 'suspended') await call(`${demo()}/start`, 'POST')
      const change = call(`${demo()}/${action}`, 'POST')
      change.catch(() => undefined)
      await waitClosely(`${action} ${step}`, isThere)
      await server.end('SIGKILL')
      server = await serve({ stateDir, settings })
      const after = (await call(demo())).body.status
      if (after !== 'running') {
        const { status, body } = await call(`${demo()}/start`, 'POST')
        expect(status, `${action} ${step}, then ${after}: ${JSON.stringify(body)}\n${server.log()}`).toBe(200)
      }
      const now = Number(await exec('sleep 1; cat /dev/shm/n'))
      expect(now, `${action} ${step}`).toBeGreaterThan(count)
      count = now
      expect(Math.abs(Number(await exec('date +%s')) * 1000 - Date.now())).toBeLessThan(10_000)
      expect(existsSync(memoryOf(roots)), `${action} ${step}`).toBe(false)
    }
    expect((await call(demo(), 'DELETE')).status).toBe(204)
    expect(await findMachine({ disk: join(roots.root, 'uppers/demo/upper.ext4') })).toEqual([])
  })

  test('refuses what cannot be suspended, and leaves it running', async () => {
    const roots = freshRoots()
    const server = await vmServer(roots)
    onTestFinished(() => server.stop())
    const demo = `${server.url}/api/workspaces/demo`
    await makeWorkspace(server.url, { name: 'demo' })
    onTestFinished(async () => void (await call(demo, 'DELETE')))
    expectError(await call(`${demo}/suspend`, 'POST'), 501, 'SUSPEND_UNSUPPORTED')
    expect((await call(demo)).body.status).toBe('running')
  })
})
