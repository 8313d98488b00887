import { appendFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { defineFaults, isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Clock } from '../../lib/clock/clock.ts'
import { type FileEnd, link, readEnd } from './chain.ts'

const ENTERED_MS = 600_000

const auditFault = defineFaults({ AUDIT_FILE_UNUSABLE: 'invalid' })

/** Actions that the audit log records. */
export const AUDIT_ACTIONS = [
  'workspace.create',
  'workspace.start',
  'workspace.stop',
  'workspace.suspend',
  'workspace.reset',
  'workspace.set',
  'workspace.rename',
  'workspace.fork',
  'workspace.rewind',
  'workspace.export',
  'workspace.import',
  'workspace.delete',
  'image.pull',
  'image.tag',
  'image.delete',
  'image.prune',
  'snapshot.create',
  'snapshot.delete',
  'checkpoint.create',
  'checkpoint.delete',
  'system.prune',
  'system.compact',
  'exec.run',
  'process.start',
  'process.signal',
  'file.read',
  'file.write',
  'file.delete',
  'session.kill',
  'terminal.open',
  'port.open',
  'port.enter',
  'tunnel.open',
  'egress.credential',
  'egress.request',
  'access.set',
  'user.add',
  'user.set',
  'user.remove',
  'user.login',
  'key.add',
  'key.remove',
  'token.create',
  'token.revoke',
  'ssh.login',
  'ssh.enter',
  'api.refuse',
] as const

/**
 * The requested action and its caller. By design it has no field that could contain a secret (threat W12).
 */
export interface AuditSubject {
  readonly action: (typeof AUDIT_ACTIONS)[number]
  /** The workspace name from the request, whether or not it exists. */
  readonly workspace: string
  /** The user whom the action is about; set only for `user.…`, `key.…` and `token.…` actions. */
  readonly subject?: string
  /** The image name from the request; set only for `image.…` actions, which have no workspace. */
  readonly image?: string
  /** The snapshot name from the request; set only for `snapshot.…` actions. */
  readonly snapshot?: string
  /** Method and host of a request through an egress proxy; set only for `egress.…` actions. */
  readonly target?: string
  /** Name of the secret that an egress proxy added. */
  readonly secret?: string
  /** The caller's address; '' for a Unix socket and for actions the server takes on its own. */
  readonly address: string
  /** Fingerprint of the key the SSH client authenticated with. */
  readonly fingerprint?: string
  /** Prefix of a digest of the request's token. It identifies the token without revealing it. */
  readonly token?: string | undefined
  /** Name of the user, on a server with several. */
  readonly user?: string | undefined
  /** Why the server acted on its own. */
  readonly reason?: 'idle' | 'schedule' | 'expired'
}

interface Outcome {
  readonly outcome: 'ok' | 'failed' | 'refused'
  /** The error code, or the reason for the refusal. */
  readonly code?: string
  /** Number of preceding refusals that were not recorded. */
  readonly leftOut?: number
}

/**
 * Appends audit entries to a file as JSON lines. The file is reopened for every write, so that it can be
 * renamed and rotated at any time. Each entry ends with a digest of itself and all before it, so that changes are evident. Entries that cannot be written go to the log instead: an entry is never
 * lost silently and never blocks the caller.
 */
export class AuditLog {
  readonly #file: string | undefined
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #limit: RefusalLimit
  readonly #entered = new LRUCache<string, true>({ max: 1_000, ttl: ENTERED_MS })
  #pending: string[] = []
  /** The end of the file; undefined if it must be read. */
  #end: FileEnd | undefined
  #writing: Promise<void> | undefined
  #onWrite: () => void = () => undefined

  /**
   * Opens the log; without a file it records nothing.
   *
   * @throws AUDIT_FILE_UNUSABLE when the file cannot be appended to
   */
  static async open(file: string | undefined, logger: Logger, clock: Clock): Promise<AuditLog> {
    const log = new AuditLog(file, logger, clock)
    try {
      await log.#append([])
    } catch (error) {
      const remedy = 'make it writable for the server, or change audit.file'
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

  /** Calls the listener after each write. */
  onWrite(listener: () => void): void {
    this.#onWrite = listener
  }

  /** Records one action and its outcome. */
  record(
    { action, workspace, subject, image, snapshot, target, secret, user, address, ...by }: AuditSubject,
    { outcome, code, leftOut }: Outcome,
  ): void {
    if (this.#file === undefined) return
    const time = new Date(this.#clock.wallMs()).toISOString()
    const { fingerprint, token, reason } = by
    const who = { user, address, fingerprint, token, reason }
    const result = { outcome, code, left_out: leftOut || undefined }
    // A refused name can be arbitrarily long.
    const entry = {
      time,
      action,
      workspace: workspace.slice(0, 80),
      subject: subject?.slice(0, 80),
      image: image?.slice(0, 255),
      snapshot: snapshot?.slice(0, 80),
      target: target?.slice(0, 300),
      secret,
      ...who,
      ...result,
    }
    this.#pending.push(JSON.stringify(entry))
    this.#writing ??= this.#write()
  }

  /** Records a refusal, at most a few times per minute and address. @param code the reason */
  refuse(subject: AuditSubject, code: string, outcome: 'refused' | 'failed' = 'refused'): void {
    if (this.#file === undefined) return
    const leftOut = this.#limit.admit(subject.action, subject.address || subject.workspace)
    if (leftOut !== undefined) this.record(subject, { outcome, code, leftOut })
  }

  /** Runs `admit` and records a refusal when it fails for a missing token, ticket or grant. */
  admission<T>(subject: AuditSubject, admit: () => T): T {
    try {
      return admit()
    } catch (error) {
      if (isFault(error) && error.kind === 'unauthorized') this.refuse(subject, error.code)
      throw error
    }
  }

  /**
   * Records an admission, at most once in ten minutes: one page makes many requests.
   *
   * @param where the page or resource
   */
  enter(subject: AuditSubject, where: string): void {
    if (this.#file === undefined) return
    const key = [subject.action, subject.address, subject.token, subject.user, where].join(' ')
    if (this.#entered.has(key)) return
    this.#entered.set(key, true)
    this.record(subject, { outcome: 'ok' })
  }

  /** Runs a piece of work and records its outcome. */
  async follow<T>(subject: AuditSubject, work: () => Promise<T>): Promise<T> {
    const result = await this.followRefusal(subject, work)
    this.record(subject, { outcome: 'ok' })
    return result
  }

  /** Runs a piece of work and records it only when it fails. For steps that precede the recorded action. */
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

  /** Writes entries in batches: one write for everything that is pending. */
  async #write(): Promise<void> {
    while (this.#pending.length > 0) {
      const entries = this.#pending.splice(0)
      try {
        await this.#append(entries)
        this.#onWrite()
      } catch (error) {
        // Some of them may have been written.
        this.#end = undefined
        const lines = entries.join('\n')
        this.#logger.error({ err: error, entries: lines }, 'audit entries could not be written')
      }
    }
    this.#writing = undefined
  }

  async #append(entries: readonly string[]): Promise<void> {
    if (this.#file === undefined) return
    if (this.#end === undefined) await appendFile(this.#file, '', { mode: 0o600 })
    const end = this.#end ?? (await readEnd(this.#file))
    let { chain } = end
    const lines = entries.map((entry) => {
      const linked = link(chain, entry)
      chain = linked.chain
      return `${linked.line}\n`
    })
    await appendFile(this.#file, `${end.isBroken ? '\n' : ''}${lines.join('')}`, { mode: 0o600 })
    this.#end = { chain, isBroken: false }
  }
}

const WINDOW_MS = 60_000
/** Limit per action and address within a window. */
const OF_ADDRESS = 5
/** Limit across all addresses within a window, so that a flood cannot fill the disk. */
const OF_ALL = 100

/** Admits a few refusals per minute and address to the audit file, and counts the rest. */
class RefusalLimit {
  readonly #clock: Clock
  readonly #counts = new Map<string, number>()
  #windowMs = 0
  #admitted = 0
  #leftOut = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Returns undefined when the refusal must be left out, else the number left out since the last recorded
   * one.
   */
  admit(action: string, address: string): number | undefined {
    const nowMs = this.#clock.wallMs()
    if (Math.abs(nowMs - this.#windowMs) >= WINDOW_MS) {
      this.#windowMs = nowMs
      this.#admitted = 0
      this.#counts.clear()
    }
    const key = `${action} ${address}`
    const count = this.#counts.get(key) ?? 0
    if (count >= OF_ADDRESS || this.#admitted >= OF_ALL) {
      this.#leftOut += 1
      return undefined
    }
    this.#counts.set(key, count + 1)
    this.#admitted += 1
    const leftOut = this.#leftOut
    this.#leftOut = 0
    return leftOut
  }
}
