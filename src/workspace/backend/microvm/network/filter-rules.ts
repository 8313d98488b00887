import { existsSync } from 'node:fs'
import { readFile, rename, truncate, writeFile } from 'node:fs/promises'
import { KeyedLock } from '../../../../lib/process/keyed-lock.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
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

const writes = new KeyedLock()

/**
 * Replaces the rules of a VM; its filter rereads them within a second. If that fails, as on a full disk, and the rules of before
 * allow more, the filter lets nothing pass from then on. `allowed` lists the networks that a listed egress currently
 * resolves to.
 */
export async function writeFilterRules(
  socketDir: string,
  policy: NetworkPolicy,
  allowed: readonly string[],
): Promise<void> {
  const file = rulesFile(socketDir)
  await writes.run(file, () => replaceRules(file, filterRules(policy, allowed)))
}

async function replaceRules(file: string, rules: string): Promise<void> {
  try {
    await writeFile(`${file}.new`, rules, { mode: 0o644 })
    await rename(`${file}.new`, file)
  } catch (error) {
    const lines = new Set(rules.split('\n'))
    const before = await readFile(file, 'utf8').catch(ignoreMissing)
    const allowsMore = before?.split('\n').some((line) => !lines.has(line)) ?? false
    // A file without rules is a policy that allows nothing.
    if (allowsMore) await truncate(file)
    throw error
  }
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
