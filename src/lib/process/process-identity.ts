import { readFileSync } from 'node:fs'
import { isAlive } from './is-alive.ts'
import { readProcStat } from './proc-stat.ts'
import type { Static } from 'typebox'
import { Type } from '../schema/type.ts'

/** The properties of a process's identity, for schemas of records. */
export const processIdentity = {
  pid: Type.Integer({ minimum: 1 }),
  /** Clock ticks from the machine's start to the process's; '' where there is no /proc. */
  began: Type.String(),
  /** The kernel's id of this boot; '' where there is none. */
  boot: Type.String(),
} as const

const identitySchema = Type.Object(processIdentity)

/** A process that no later one is mistaken for: ids are given out again, ids with a beginning and a boot are not. */
export type ProcessIdentity = Readonly<Static<typeof identitySchema>>

/** Identity of a running process; of one that does not run, it matches none. */
export function identityOf(pid: number): ProcessIdentity {
  return { pid, began: readProcStat(pid)?.began ?? '', boot: bootId() }
}

/** Whether the process with this identity still runs; without /proc any process with its id counts. */
export function isRunning({ pid, began, boot }: ProcessIdentity): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !isAlive(pid)) return false
  const now = identityOf(pid)
  return now.began === began && now.boot === boot
}

/** Changes with each start of the machine; '' where the kernel has none. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return ''
  }
}
