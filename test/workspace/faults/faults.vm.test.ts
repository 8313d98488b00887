import { existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Backend, BackendChange } from '../../../src/workspace/backend/backend.ts'
import { createIn, outputOf, sh } from '../../support/workspace/backend/backends.ts'
import { waitFor } from '../../support/wait-for.ts'
import { machineRoots, qemuBackend } from '../../support/vm/vm-server.ts'

const roots = machineRoots()
const changes: BackendChange[] = []
let backend: Backend

const metadataFile = (name: string) => join(roots.root, 'instances', name, 'metadata.json')
const metadata = (name: string) => JSON.parse(readFileSync(metadataFile(name), 'utf8'))
const open = async (options: Parameters<typeof qemuBackend>[1] = {}) => {
  backend = await qemuBackend(roots, options)
  await backend.open((change) => changes.push(change))
}

beforeAll(() => open())
afterEach(() => void (changes.length = 0))
afterAll(async () => {
  for (const { name } of await backend.list()) await backend.remove(name, false)
  await backend.close()
  roots.remove()
})

test('F1 a killed machine has status error with the reason and starts again with its files', async () => {
  const { pid } = await createIn(backend, 'killed')
  await outputOf(backend, 'killed', sh('echo kept > /workspace/file; sync'))
  process.kill(pid, 'SIGKILL')
  await waitFor('the change', () =>
    changes.some((change) => change.is === 'changed' && change.name === 'killed'),
  )
  expect(await backend.find('killed')).toMatchObject({
    state: { is: 'error', message: 'its VM exited unexpectedly; start it again' },
    pid: 0,
  })
  expect(await backend.start('killed')).toMatchObject({ state: { is: 'running' } })
  expect(await outputOf(backend, 'killed', sh('cat /workspace/file'))).toMatchObject({ stdout: 'kept\n' })
})

test('F19 a restarted server finds its machines running, and ones that died meanwhile as errors', async () => {
  const { pid } = (await backend.find('killed')) ?? { pid: 0 }
  await backend.close()
  await open()
  expect(await backend.find('killed')).toMatchObject({ state: { is: 'running' }, pid })
  expect(await outputOf(backend, 'killed', sh('echo in'))).toMatchObject({ stdout: 'in\n' })
  await backend.close()
  process.kill(pid, 'SIGKILL')
  await waitFor('the monitor to exit', () => !existsSync(`/proc/${pid}`))
  await open()
  expect(await backend.find('killed')).toMatchObject({ state: { is: 'error' } })
})

test('a machine whose user powers it off is stopped', async () => {
  await backend.start('killed')
  await outputOf(backend, 'killed', sh('sync; echo o > /proc/sysrq-trigger', '0')).catch(() => undefined)
  await waitFor('the change', () =>
    changes.some((change) => change.is === 'changed' && change.name === 'killed'),
  )
  expect(await backend.find('killed')).toMatchObject({ state: { is: 'stopped' } })
})

test('after a host restart machines are stopped, and a foreign process with the same PID is not touched', async () => {
  const stranger = process.pid
  const run = {
    hostBoot: 'another',
    processes: [{ pid: stranger, began: '1' }],
    line: 'hybrid',
    isReady: true,
    ipAddress: '',
    consoleStart: 0,
    agentToken: 'a-token-of-another-run',
  }
  writeFileSync(metadataFile('killed'), JSON.stringify({ ...metadata('killed'), run }))
  expect(await backend.find('killed')).toMatchObject({ state: { is: 'stopped' } })
  await backend.stop('killed')
  // Same boot but a different start time: the PID was reused.
  const { hostBoot: _ignored, ...rest } = run
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  writeFileSync(
    metadataFile('killed'),
    JSON.stringify({ ...metadata('killed'), run: { ...rest, hostBoot: boot } }),
  )
  expect(await backend.find('killed')).toMatchObject({ state: { is: 'error' } })
  await backend.stop('killed')
  expect(await backend.find('killed')).toMatchObject({ state: { is: 'stopped' } })
})

test('a damaged disk is reported by the guest and not formatted', async () => {
  const upper = join(roots.root, 'uppers/killed/upper.ext4')
  truncateSync(upper, 0)
  truncateSync(upper, 2 ** 30)
  await expect(backend.start('killed')).rejects.toMatchObject({ code: 'BACKEND_ERROR' })
  expect(await backend.find('killed')).toMatchObject({ state: { is: 'error', message: /failed to boot/ } })
  await backend.remove('killed', false)
})

test('a guest that never responds is stopped after its timeout and leaves no processes', async () => {
  await backend.close()
  await open({ bootTimeoutMs: 1_000 })
  await expect(createIn(backend, 'silent')).rejects.toThrow(/did not respond within [1-6] s/)
  expect(metadata('silent')).toMatchObject({ run: null })
  await backend.remove('silent', false)
  expect(existsSync(metadataFile('silent'))).toBe(false)
  await backend.close()
  await open()
})

test('two concurrent creations share one image and have separate disks', async () => {
  const made = await Promise.all([createIn(backend, 'one'), createIn(backend, 'two')])
  expect(made.map(({ state }) => state.is)).toEqual(['running', 'running'])
  await outputOf(backend, 'one', sh('echo one > /workspace/file'))
  expect(await outputOf(backend, 'two', sh('ls -A /workspace'))).toMatchObject({ stdout: '' })
  const { images, workspaces } = await backend.usage()
  const uppers = [...workspaces.values()].map((parts) => parts.find(({ kind }) => kind === 'rootfs')?.path)
  expect(uppers).toHaveLength(2)
  for (const upper of uppers) {
    const { size, blocks } = statSync(upper ?? '')
    expect(size).toBe(5 * 2 ** 30)
    expect(blocks * 512).toBeLessThan(64 * 2 ** 20)
  }
  const digests = new Set(made.map(({ name }) => metadata(name).digest))
  expect(digests.size).toBe(1)
  expect(images.filter(({ path }) => path.endsWith([...digests][0].replace('sha256:', '')))).toHaveLength(1)
})

test('F5 a guest that fills its disk gets an error and continues', async () => {
  // Most of the space is only allocated; only the last part is written.
  const script = `
    cd /workspace
    fallocate -l $(($(df -B1 --output=avail . | tail -n 1) - 64 * 1024 * 1024)) aside
    head -c 200M /dev/zero > full; rm aside full; echo still here`
  const full = await outputOf(backend, 'one', sh(script))
  expect(full.stderr).toMatch(/No space left on device/)
  expect(full.stdout).toBe('still here\n')
})

test('F19 a killed agent restarts, and the machine is reachable again', async () => {
  const killed = outputOf(
    backend,
    'one',
    sh('kill -9 $(systemctl show -p MainPID --value workspace-agent)', '0'),
  )
  await killed.catch(() => undefined)
  await waitFor('the agent', async () => {
    const { stdout } = await outputOf(backend, 'one', sh('echo back')).catch(() => ({ stdout: '' }))
    return stdout === 'back\n'
  })
  expect(await backend.find('one')).toMatchObject({ state: { is: 'running' } })
})
