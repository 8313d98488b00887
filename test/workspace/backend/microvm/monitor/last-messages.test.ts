import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FirecrackerDriver } from '../../../../../src/workspace/backend/firecracker/firecracker-driver.ts'
import { findLastKernelMessage } from '../../../../../src/workspace/backend/microvm/monitor/console-log.ts'
import { identify } from '../../../../../src/workspace/backend/microvm/monitor/machine-process.ts'
import { MachineFiles } from '../../../../../src/workspace/backend/microvm/files/machine-files.ts'
import { MachineWatch } from '../../../../../src/workspace/backend/microvm/machine-watch.ts'
import { newMetadata } from '../../../../../src/workspace/backend/microvm/plan-machine.ts'
import { backendCreate } from '../../../../support/workspace/backend/backend-create.ts'
import { tempDir } from '../../../../support/temp-dir.ts'
import { waitFor } from '../../../../support/wait-for.ts'

const RESTARTING = '[   42.123456] reboot: Restarting system\r\n'
const OFF = '[   42.123456] reboot: Power down\r\n'

test.each([
  ['', undefined],
  ['Debian GNU/Linux 12 demo ttyS0\r\n', undefined],
  [RESTARTING, 'rebooting'],
  [OFF, 'off'],
  ['[    9.1] reboot: System halted\n', 'off'],
  // Firecracker prints a last line itself.
  [
    `${RESTARTING}2026-11-23T21:00:00 [anonymous-instance:main] Firecracker exiting successfully.\n`,
    'rebooting',
  ],
  [`${OFF}${RESTARTING}`, 'rebooting'],
  [`${RESTARTING}${OFF}`, 'off'],
  // An old message that was not the last one.
  [`${RESTARTING}${'a line\n'.repeat(10)}`, undefined],
] as const)('for a console that ends with %j, the last message is %s', async (printed, expected) => {
  const file = join(tempDir(), 'console.log')
  writeFileSync(file, `booting\n${printed}`)
  expect(await findLastKernelMessage(file, 0)).toBe(expected)
})

test('the last message of an earlier run does not count', async () => {
  const file = join(tempDir(), 'console.log')
  writeFileSync(file, RESTARTING)
  expect(await findLastKernelMessage(file, RESTARTING.length)).toBe(undefined)
})

test('a guest that has powered off under a monitor that cannot power off counts as exited', async () => {
  const root = tempDir()
  const files = new MachineFiles(root)
  mkdirSync(files.instanceOf('demo'), { recursive: true })
  writeFileSync(files.monitorLogOf('demo'), 'up\n')
  const monitor = spawn('sleep', ['600'])
  onTestFinished(() => void monitor.kill())
  await once(monitor, 'spawn')
  const process = await identify(monitor.pid ?? 0)
  if (process === undefined) throw new Error('it has ended')
  const defaults = { cpus: 1, memoryMb: 512, upperBytes: 2 ** 30 }
  const metadata = newMetadata(backendCreate('demo', 'base'), `sha256:${'0'.repeat(64)}`, defaults)
  const run = { hostBoot: 'boot', processes: [process], line: 'hybrid' as const, isReady: true }
  const ended: string[] = []
  const driver = new FirecrackerDriver({ binary: 'x', root, kvm: '/dev/null' })
  const watch = new MachineWatch(files, driver, {
    onExit: (name) => Promise.resolve(void ended.push(name)),
    onReadable: () => undefined,
    report: () => undefined,
  })
  watch.add({ ...metadata, run: { ...run, ipAddress: '', agentToken: 'x'.repeat(16), consoleStart: 0 } })
  watch.start()
  onTestFinished(() => watch.stop())
  writeFileSync(files.monitorLogOf('demo'), `up\n${OFF}`)
  await waitFor('the end', () => ended.length > 0)
  expect(ended).toEqual(['demo'])
})
