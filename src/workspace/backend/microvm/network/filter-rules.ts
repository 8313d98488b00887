import { existsSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import type { NetworkPolicy } from '../../../network/policy.ts'

/**
 * Returns where the frame filter of a machine finds its rules: beside the machine's directory and not in it, where its monitor's user
 * could change them.
 */
export function rulesFile(socketDir: string): string {
  return `${socketDir}.rules`
}

/** Returns whether a machine that runs has user-mode networking. */
export function hasFilterRules(socketDir: string): boolean {
  return existsSync(rulesFile(socketDir))
}

/** Replaces the rules of a machine; its filter reads them within a second. `allowed`: networks that a listed egress stands for now. */
export async function writeFilterRules(
  socketDir: string,
  policy: NetworkPolicy,
  allowed: readonly string[],
): Promise<void> {
  const file = rulesFile(socketDir)
  await writeFile(`${file}.new`, filterRules(policy, allowed), { mode: 0o644 })
  await rename(`${file}.new`, file)
}

/** Returns a policy as `native/net-filter/policy.h` has it. */
export function filterRules({ allowHostPorts, egress }: NetworkPolicy, allowed: readonly string[]): string {
  const lines = [
    `egress ${typeof egress === 'string' ? egress : 'listed'}`,
    ...allowed.map((network) => `allow ${network}`),
    ...allowHostPorts.map((port) => `host-port ${port}`),
  ]
  return lines.map((line) => `${line}\n`).join('')
}
