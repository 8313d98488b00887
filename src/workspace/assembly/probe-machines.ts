import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { messageOf } from '../../lib/errors/message.ts'
import { run } from '../../lib/process/run.ts'
import { canUseVsock } from '../../native/net/vsock.ts'
import type { WorkspaceConfig } from '../config.ts'
import type { Check } from '../check.ts'
import { machineDrivers } from './configured-machines.ts'
import type { Driver } from '../backend/microvm/driver.ts'
import { SocketDirs } from '../backend/microvm/guest/socket-dir.ts'
import { tapMissing } from '../backend/microvm/network/tap.ts'
import { findAccelerator } from '../backend/qemu/accelerator.ts'
import { findHelper } from '../backend/qemu/tools.ts'

/**
 * Checks the prerequisites of each VM backend on this machine. A backend that is not enabled may lack all of
 * them.
 */
export async function probeMachines(config: WorkspaceConfig): Promise<readonly Check[]> {
  const checks: Check[] = []
  for (const driver of machineDrivers(config)) {
    const isEnabled = config.enabledBackends.includes(driver.name)
    checks.push(await monitorCheck(config, driver, isEnabled))
    if (!isEnabled) continue
    if (driver.name === 'qemu') checks.push(await speedCheck(config), await vsockCheck(config))
    checks.push(await shareCheck(driver), await networkCheck(config, driver))
  }
  if (machineDrivers(config).some(({ name }) => config.enabledBackends.includes(name)))
    checks.push(socketsCheck(config))
  return checks
}

async function monitorCheck(config: WorkspaceConfig, driver: Driver, isEnabled: boolean): Promise<Check> {
  const { name } = driver
  const missing = await driver.missing()
  if (missing !== undefined)
    return { name, ok: !isEnabled, found: isEnabled ? 'unavailable' : 'not enabled', remedy: missing }
  const binary = { qemu: config.qemu.binary, firecracker: config.firecracker.binary, vz: config.vz.vfkit }[
    name
  ]
  return { name, ok: true, found: await versionOf(binary), remedy: '' }
}

async function versionOf(binary: string): Promise<string> {
  const { stdout, stderr } = await run(binary, ['--version'], { timeoutMs: 5_000 }).catch(
    (error: unknown) => ({
      stdout: '',
      stderr: messageOf(error),
    }),
  )
  return `${stdout}${stderr}`.trim().split('\n')[0] ?? ''
}

async function speedCheck({ qemu }: WorkspaceConfig): Promise<Check> {
  const accelerator = await findAccelerator(qemu)
  const remedy =
    accelerator === 'kvm' ? '' : 'VMs are emulated, about ten times slower; KVM requires access to /dev/kvm'
  return { name: 'qemu acceleration', ok: true, found: accelerator, remedy }
}

async function vsockCheck({ qemu }: WorkspaceConfig): Promise<Check> {
  const name = 'qemu vsock'
  const isUsable = await access('/dev/vhost-vsock', constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
  if (isUsable && canUseVsock()) return { name, ok: true, found: '/dev/vhost-vsock', remedy: '' }
  const helper = await findHelper(qemu.vhostDeviceVsock, 'vhost-device-vsock')
  if (helper !== undefined) return { name, ok: true, found: helper, remedy: '' }
  const remedy = 'for faster connections: modprobe vhost_vsock, or scripts/vhost-device-vsock'
  return { name, ok: true, found: 'not available, using a serial port', remedy }
}

async function shareCheck(driver: Driver): Promise<Check> {
  const why = await driver.cannotShare()
  return {
    name: `${driver.name} local_dir`,
    ok: true,
    found: why === undefined ? 'can be shared' : 'cannot be shared',
    remedy: why ?? '',
  }
}

async function networkCheck({ vm }: WorkspaceConfig, { name, userNetwork }: Driver): Promise<Check> {
  const check = { name: `${name} network` }
  const tap = name === 'vz' ? 'vz does not support tap devices' : await tapMissing()
  if ((vm.network === 'tap' || vm.network === 'auto') && tap === undefined)
    return { ...check, ok: true, found: 'tap', remedy: '' }
  if (vm.network === 'none') return { ...check, ok: true, found: 'none', remedy: '' }
  const user = userNetwork === undefined ? tap : await userNetwork.missing()
  const missing = vm.network === 'tap' ? tap : user
  if (missing === undefined) return { ...check, ok: true, found: 'user', remedy: '' }
  return { ...check, ok: vm.network === 'auto', found: 'VMs have no network', remedy: missing }
}

function socketsCheck({ vm }: WorkspaceConfig): Check {
  const name = 'VM sockets'
  try {
    new SocketDirs(vm.runDir).check()
    return { name, ok: true, found: vm.runDir, remedy: '' }
  } catch (error) {
    return { name, ok: false, found: vm.runDir, remedy: messageOf(error) }
  }
}
