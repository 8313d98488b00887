import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Static } from 'typebox'
import type { Clock } from '../../lib/clock/clock.ts'
import { remembered, type Secret } from '../../lib/http/token-rule.ts'
import { parseJson } from '../../lib/schema/parse-json.ts'
import { Type } from '../../lib/schema/type.ts'
import { nameKey } from '../name.ts'
import type { Principal } from '../team/access-control.ts'
import type { Workspace } from '../workspace.ts'
import type { Ticket } from './ticket-table.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Longer than any pass. */
const MAX_LENGTH = 1_024

const contentSchema = Type.Object({
  holder: Type.Union([
    Type.Object({ is: Type.Literal('server') }),
    Type.Object({ is: Type.Literal('token'), userId: Type.String(), tokenId: Type.String() }),
    Type.Object({ is: Type.Literal('key'), userId: Type.String(), fingerprint: Type.String() }),
  ]),
  endsAtMs: Type.Integer(),
})

/** A URL that is meant for others, or the cookie of a browser that presented a ticket or such a URL. */
type PassKind = 'link' | 'grant'

/** A port of a workspace, as opposed to a later workspace of the same name. */
export interface PassTarget {
  readonly workspace: Pick<Workspace, 'name' | 'createdAt'>
  readonly port: number
}

/** Whom a pass admits, and for how much longer. */
export interface PassUse {
  readonly holder: Principal
  readonly leftMs: number
}

/**
 * Passes that admit to a port any number of times until they expire. They contain their holder and their end, encrypted and
 * authenticated together with what they admit to, so that they outlive the server and take no memory. Another server's token, from
 * which the key is derived, ends all of them.
 */
export class PortPasses {
  readonly #key: () => Buffer
  readonly #clock: Clock

  /** @param token the server's token; undefined if it has none, and passes are then valid until it stops */
  constructor(token: Secret | undefined, clock: Clock) {
    const secret = token ?? { text: randomBytes(KEY_BYTES).toString('hex') }
    this.#key = remembered(secret, (text) =>
      Buffer.from(hkdfSync('sha256', text, '', 'workspace port pass', KEY_BYTES)),
    )
    this.#clock = clock
  }

  /** @param holder who may then use it */
  issue(kind: PassKind, target: PassTarget, holder: Principal, validMs: number): Ticket {
    const endsAtMs = this.#clock.wallMs() + validMs
    const content: Static<typeof contentSchema> = { holder, endsAtMs }
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key(), nonce).setAAD(boundTo(kind, target))
    const sealed = Buffer.concat([nonce, cipher.update(JSON.stringify(content)), cipher.final()])
    const ticket = Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url')
    return { ticket, expiresAt: new Date(endsAtMs) }
  }

  /** Returns whom a pass admits; undefined if it is not a valid one of that kind for the port. */
  find(kind: PassKind, target: PassTarget, pass: string): PassUse | undefined {
    const text = this.#decrypt(pass, boundTo(kind, target))
    const content = text === undefined ? undefined : parseJson(contentSchema, text)
    if (content === undefined) return undefined
    const leftMs = content.endsAtMs - this.#clock.wallMs()
    return leftMs > 0 ? { holder: content.holder, leftMs } : undefined
  }

  #decrypt(pass: string, bound: Buffer): string | undefined {
    const bytes = pass.length > MAX_LENGTH ? Buffer.alloc(0) : Buffer.from(pass, 'base64url')
    if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined
    const decipher = createDecipheriv(CIPHER, this.#key(), bytes.subarray(0, NONCE_BYTES))
    decipher.setAAD(bound).setAuthTag(bytes.subarray(-TAG_BYTES))
    try {
      const content = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
      return Buffer.concat([content, decipher.final()]).toString()
    } catch {
      // It was not issued with this key, or for another port, workspace or purpose.
      return undefined
    }
  }
}

function boundTo(kind: PassKind, { workspace: { name, createdAt }, port }: PassTarget): Buffer {
  return Buffer.from(`${kind} ${nameKey(name)} ${createdAt.getTime()} ${port}`)
}
