import { appendFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { defineFaults, isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Clock } from '../../lib/clock/clock.ts'

const ENTERED_MS = 600_000

const auditFault = defineFaults({ AUDIT_FILE_UNUSABLE: 'invalid' })

export const AUDIT_ACTIONS = [
  'workspace.create',
  'workspace.start',
  'workspace.stop',
  'workspace.reset',
  'workspace.delete',
  'image.pull',
  'image.tag',
  'image.delete',
  'image.prune',
  'snapshot.create',
  'snapshot.delete',
  'system.prune',
  'system.compact',
  'session.kill',
  'terminal.open',
  'port.open',
  'port.enter',
  'tunnel.open',
  'ssh.login',
  'ssh.enter',
  'api.refuse',
] as const

/** What was asked for and by whom. It has no place for what could hold a secret (threat W12). */
export interface AuditSubject {
  readonly action: (typeof AUDIT_ACTIONS)[number]
  /** As the caller named it, also where there is none of that name. */
  readonly workspace: string
  /** The image, as the caller named it; with `image.…` alone, which concern no workspace. */
  readonly image?: string
  /** The snapshot, as the caller named it; with `snapshot.…` alone. */
  readonly snapshot?: string
  /** Where the caller connected from; '' on a Unix socket and for what the server does by itself. */
  readonly address: string
  /** Of the key that an SSH client proved to hold. */
  readonly fingerprint?: string
  /** Of the token that a request carried, the beginning of a digest: it tells tokens apart, and is none. */
  readonly token?: string | undefined
  /** Why the server did it by itself. */
  readonly reason?: 'idle' | 'schedule'
}

interface Outcome {
  readonly outcome: 'ok' | 'failed' | 'refused'
  /** Of the fault that it failed with, or why it was refused. */
  readonly code?: string
  /** Refusals before it that were left out. */
  readonly leftOut?: number
}

/**
 * Who did what, as JSON lines appended to a file. The file is opened anew for every write, so that it may be renamed
 * and rotated at any time. What cannot be written goes to the log instead: an entry is never lost silently, and never
 * keeps anybody from their work.
 */
export class AuditLog {
  readonly #file: string | undefined
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #limit: RefusalLimit
  readonly #entered = new LRUCache<string, true>({ max: 1_000, ttl: ENTERED_MS })
  #pending: string[] = []
  #writing: Promise<void> | undefined

  /** Without a file it records nothing. @throws AUDIT_FILE_UNUSABLE when the file cannot be appended to */
  static async open(file: string | undefined, logger: Logger, clock: Clock): Promise<AuditLog> {
    const log = new AuditLog(file, logger, clock)
    try {
      await log.#append('')
    } catch (error) {
      const remedy = 'let the server write there, or set audit.file'
      throw auditFault(
        'AUDIT_FILE_UNUSABLE',
        `audit file ${file} cannot be used (${messageOf(error)}); ${remedy}`,
        error,
      )
    }
    return log
  }

  private constructor(file: string | undefined, logger: Logger, clock: Clock) {
    this.#file = file
    this.#logger = logger
    this.#clock = clock
    this.#limit = new RefusalLimit(clock)
  }

  record(
    { action, workspace, image, address, fingerprint, token, reason }: AuditSubject,
    { outcome, code, leftOut }: Outcome,
  ): void {
    if (this.#file === undefined) return
    const time = new Date(this.#clock.wallMs()).toISOString()
    const who = { address, fingerprint, token, reason, outcome, code, left_out: leftOut || undefined }
    // A name that was refused may be anything.
    const entry = { time, action, workspace: workspace.slice(0, 80), image: image?.slice(0, 255), ...who }
    this.#pending.push(`${JSON.stringify(entry)}\n`)
    this.#writing ??= this.#write()
  }

  /** Records that somebody was not let in, a few times a minute for each address. @param code why */
  refuse(subject: AuditSubject, code: string, outcome: 'refused' | 'failed' = 'refused'): void {
    if (this.#file === undefined) return
    const leftOut = this.#limit.take(subject.action, subject.address)
    if (leftOut !== undefined) this.record(subject, { outcome, code, leftOut })
  }

  /** Records a refusal for want of a token, a pass or a grant. */
  admission<T>(subject: AuditSubject, admit: () => T): T {
    try {
      return admit()
    } catch (error) {
      if (isFault(error) && error.kind === 'unauthorized') this.refuse(subject, error.code)
      throw error
    }
  }

  /** Records that somebody came in, once in ten minutes: a page is many requests. @param where what they came to */
  enter(subject: AuditSubject, where: string): void {
    if (this.#file === undefined) return
    const key = [subject.action, subject.address, subject.token, where].join(' ')
    if (this.#entered.has(key)) return
    this.#entered.set(key, true)
    this.record(subject, { outcome: 'ok' })
  }

  /** Records how a piece of work ends. */
  async follow<T>(subject: AuditSubject, work: () => Promise<T>): Promise<T> {
    const result = await this.followRefusal(subject, work)
    this.record(subject, { outcome: 'ok' })
    return result
  }

  /** Records a piece of work only if it fails; for what must succeed before the real work begins. */
  async followRefusal<T>(subject: AuditSubject, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      this.record(subject, { outcome: 'failed', code: isFault(error) ? error.code : 'INTERNAL_ERROR' })
      throw error
    }
  }

  /** Resolves when everything recorded is written. */
  async close(): Promise<void> {
    await this.#writing
  }

  /** One write for all that came meanwhile. */
  async #write(): Promise<void> {
    while (this.#pending.length > 0) {
      const lines = this.#pending.splice(0).join('')
      try {
        await this.#append(lines)
      } catch (error) {
        this.#logger.error({ err: error, entries: lines }, 'audit entries could not be written')
      }
    }
    this.#writing = undefined
  }

  async #append(lines: string): Promise<void> {
    if (this.#file !== undefined) await appendFile(this.#file, lines, { flag: 'a', mode: 0o600 })
  }
}

const WINDOW_MS = 60_000
/** Of one kind and one address, within a window. */
const OF_ADDRESS = 5
/** Of all addresses together, within a window: a flood fills no disk. */
const OF_ALL = 100

/** Lets a few refusals a minute of each address into the audit file, and counts those that it leaves out. */
class RefusalLimit {
  readonly #clock: Clock
  readonly #counts = new Map<string, number>()
  #windowMs = 0
  #passed = 0
  #leftOut = 0

  /** @param now milliseconds since the epoch */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined for a refusal that is left out, else how many were since the last that was not. */
  take(action: string, address: string): number | undefined {
    const nowMs = this.#clock.wallMs()
    if (Math.abs(nowMs - this.#windowMs) >= WINDOW_MS) {
      this.#windowMs = nowMs
      this.#passed = 0
      this.#counts.clear()
    }
    const key = `${action} ${address}`
    const count = this.#counts.get(key) ?? 0
    if (count >= OF_ADDRESS || this.#passed >= OF_ALL) {
      this.#leftOut += 1
      return undefined
    }
    this.#counts.set(key, count + 1)
    this.#passed += 1
    const leftOut = this.#leftOut
    this.#leftOut = 0
    return leftOut
  }
}
