import { appendFile } from 'node:fs/promises'
import { defineFaults, isFault } from '../../lib/errors/fault.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'

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
  'tunnel.open',
  'ssh.login',
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
  /** Why the server did it by itself. */
  readonly reason?: 'idle' | 'schedule'
}

interface Outcome {
  readonly outcome: 'ok' | 'failed'
  /** Of the fault that it failed with. */
  readonly code?: string
}

/**
 * Who did what, as JSON lines appended to a file. The file is opened anew for every write, so that it may be renamed
 * and rotated at any time. What cannot be written goes to the log instead: an entry is never lost silently, and never
 * keeps anybody from their work.
 */
export class AuditLog {
  readonly #file: string | undefined
  readonly #logger: Logger
  readonly #now: () => Date
  #pending: string[] = []
  #writing: Promise<void> | undefined

  /** Without a file it records nothing. Throws AUDIT_FILE_UNUSABLE when the file cannot be appended to. */
  static async open(file: string | undefined, logger: Logger, now: () => Date): Promise<AuditLog> {
    const log = new AuditLog(file, logger, now)
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

  private constructor(file: string | undefined, logger: Logger, now: () => Date) {
    this.#file = file
    this.#logger = logger
    this.#now = now
  }

  record({ action, workspace, image, address, fingerprint, reason }: AuditSubject, outcome: Outcome): void {
    if (this.#file === undefined) return
    const time = this.#now().toISOString()
    const who = { address, fingerprint, reason, outcome: outcome.outcome, code: outcome.code }
    // A name that was refused may be anything.
    const entry = { time, action, workspace: workspace.slice(0, 80), image: image?.slice(0, 255), ...who }
    this.#pending.push(`${JSON.stringify(entry)}\n`)
    this.#writing ??= this.#write()
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
