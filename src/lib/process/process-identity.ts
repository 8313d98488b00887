import { readFileSync } from 'node:fs'
import { isAlive } from './is-alive.ts'
import { readProcStat } from './proc-stat.ts'
import type { Static } from 'typebox'
import { Type } from '../schema/type.ts'

/** Schema properties of a process's identity. */
export const processIdentity = {
  pid: Type.Integer({ minimum: 1 }),
  /** Start time in clock ticks after boot; '' without /proc. */
  began: Type.String(),
  /** The kernel's boot id; '' if there is none. */
  boot: Type.String(),
} as const

const identitySchema = Type.Object(processIdentity)

/** Unambiguous identity of a process: process ids are reused, but not together with start time and boot id. */
export type ProcessIdentity = Readonly<Static<typeof identitySchema>>

/** Returns the identity of a running process; for others, one that matches none. */
export function identityOf(pid: number): ProcessIdentity {
  return { pid, began: readProcStat(pid)?.began ?? '', boot: bootId() }
}

/** Whether the process with this identity is still running; without /proc, any process with its id counts. */
export function isRunning({ pid, began, boot }: ProcessIdentity): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !isAlive(pid)) return false
  const now = identityOf(pid)
  return now.began === began && now.boot === boot
}

/** Returns the kernel's boot id; '' if there is none. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}
