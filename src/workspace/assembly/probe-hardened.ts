import { readFile } from 'node:fs/promises'
import type { WorkspaceConfig } from '../config.ts'
import type { Check } from '../check.ts'

/** Accounts of people begin here, and end before those of containers. Source: login.defs(5), UID_MIN. */
const FIRST_UID = 1_000
const LAST_UID = 59_999

/** Returns whether the server's defaults fit this machine: they let in whoever reaches its ports. */
export async function probeHardened({
  hardened,
  http,
  ssh,
  network,
}: Pick<WorkspaceConfig, 'hardened' | 'http' | 'ssh' | 'network'>): Promise<Check> {
  const name = 'hardened'
  if (hardened) return { name, ok: true, found: 'yes', remedy: '' }
  const isClosed =
    (http.tokenFile !== undefined || http.socket !== undefined) && ssh.authorizedKeys !== undefined
  const others = await otherAccounts()
  const reasons = [
    ...(others > 0 ? [`${others} other account${others === 1 ? '' : 's'} on this host`] : []),
    ...(network.allowHostPorts.length > 0 ? ['workspaces may reach ports of this host'] : []),
  ]
  if (isClosed || reasons.length === 0) return { name, ok: true, found: 'no', remedy: '' }
  return { name, ok: true, found: `no, with ${reasons.join(' and ')}`, remedy: 'set hardened: true' }
}

async function otherAccounts(): Promise<number> {
  const own = process.getuid?.() ?? -1
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n')
  const users = lines
    .map((line) => line.split(':'))
    .filter(([, , , , , , shell = '']) => !/(?:nologin|false|sync)$/.test(shell))
  return users.filter(
    ([, , uid]) => Number(uid) >= FIRST_UID && Number(uid) <= LAST_UID && Number(uid) !== own,
  ).length
}
