import { existsSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import type { NetworkPolicy } from '../../../network/policy.ts'

/**
 * Returns the path of a VM's frame filter rules: beside the VM's directory rather than in it, where its
 * monitor's user could change them.
 */
export function rulesFile(socketDir: string): string {
  return `${socketDir}.rules`
}

/** Returns whether a running VM uses user-mode networking. */
export function hasFilterRules(socketDir: string): boolean {
  return existsSync(rulesFile(socketDir))
}

/**
 * Replaces the rules of a VM; its filter rereads them within a second. `allowed` lists the networks that a
 * listed egress currently resolves to.
 */
export async function writeFilterRules(
  socketDir: string,
  policy: NetworkPolicy,
  allowed: readonly string[],
): Promise<void> {
  const file = rulesFile(socketDir)
  await writeFile(`${file}.new`, filterRules(policy, allowed), { mode: 0o644 })
  await rename(`${file}.new`, file)
}

/** Formats a policy as `native/net-filter/policy.h` expects it. */
export function filterRules({ allowHostPorts, egress }: NetworkPolicy, allowed: readonly string[]): string {
  const lines = [
    `egress ${typeof egress === 'string' ? egress : 'listed'}`,
    ...allowed.map((network) => `allow ${network}`),
    ...allowHostPorts.map((port) => `host-port ${port}`),
  ]
  return lines.map((line) => `${line}\n`).join('')
}
