import { createHash, createHmac } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { httpFault } from '../../../../lib/http/faults.ts'
import { createSecretTest, createTokenTest, type Secret } from '../../../../lib/http/token-rule.ts'
import { bytesFromText } from '../../../path-text.ts'
import type { Workspace } from '../../../workspace.ts'

const API_KEY = 'x-api-key'
const ENVD_TOKEN = 'x-access-token'
/** Header with which clients reach ports of a sandbox. */
export const TRAFFIC_TOKEN = 'e2b-traffic-access-token'

/** Use that a signed URL allows. */
export interface SignedUse {
  readonly path: string
  readonly operation: 'read' | 'write'
  readonly user: string
  readonly signature: string | undefined
  /** Seconds since the epoch; undefined for no limit. */
  readonly expiration: number | undefined
}

/**
 * Decides which requests of E2B's clients are admitted. The API key is the server's token. A sandbox has tokens derived
 * from it: one for its interface, one for its ports. They end with the sandbox and survive restarts. Without a token,
 * everything is admitted, as by the server's own API.
 */
export class SandboxAccess {
  readonly #token: Secret | undefined
  readonly #hasKey: (request: IncomingMessage) => boolean

  constructor(token: Secret | undefined) {
    this.#token = token
    const hasKey = token === undefined ? () => true : createTokenTest(token, API_KEY)
    const hasToken = token === undefined ? () => true : createTokenTest(token)
    this.#hasKey = (request) => hasToken(request) || hasKey(request)
  }

  /** @throws UNAUTHORIZED */
  checkKey(request: IncomingMessage): void {
    if (!this.#hasKey(request))
      throw httpFault('UNAUTHORIZED', "the API key is not this server's token; set E2B_API_KEY to it")
  }

  /** Returns a sandbox's tokens; undefined if the server requires none. */
  tokensOf(workspace: Workspace): { readonly envd: string; readonly traffic: string } | undefined {
    if (this.#token === undefined) return undefined
    return { envd: this.#derive('envd', workspace), traffic: this.#derive('traffic', workspace) }
  }

  /** @throws UNAUTHORIZED when a request for a sandbox has neither its token nor the API key, nor a valid signature */
  checkSandbox(request: IncomingMessage, workspace: Workspace, signed?: SignedUse, nowMs = Date.now()): void {
    const tokens = this.tokensOf(workspace)
    if (
      tokens === undefined ||
      this.#hasKey(request) ||
      createSecretTest(tokens.envd)(request.headers[ENVD_TOKEN])
    )
      return
    if (signed?.signature !== undefined) return checkSignature(signed, tokens.envd, nowMs)
    throw httpFault(
      'UNAUTHORIZED',
      'the access token of the sandbox is missing or wrong; connect to it again',
    )
  }

  /** Returns whether a request for a port has the token for it. */
  admitsTraffic(request: IncomingMessage, workspace: Workspace): boolean {
    const tokens = this.tokensOf(workspace)
    return tokens === undefined || createSecretTest(tokens.traffic)(request.headers[TRAFFIC_TOKEN])
  }

  #derive(use: string, { name, createdAt }: Workspace): string {
    const subject = `e2b ${use} ${name} ${createdAt.toISOString()}`
    return createHmac('sha256', this.#token?.text ?? '')
      .update(subject)
      .digest('hex')
  }
}

/** @throws UNAUTHORIZED */
function checkSignature(signed: SignedUse, token: string, nowMs: number): void {
  const { path, operation, user, signature, expiration } = signed
  const parts = [path, operation, user, token, ...(expiration === undefined ? [] : [expiration])]
  const expected = createHash('sha256')
    .update(bytesFromText(parts.join(':')))
    .digest('base64')
    .replace(/=+$/, '')
  if (!createSecretTest(`v1_${expected}`)(signature))
    throw httpFault('UNAUTHORIZED', 'the signature of the URL is not valid; create the URL again')
  if (expiration !== undefined && expiration * 1_000 < nowMs)
    throw httpFault('UNAUTHORIZED', 'the signature of the URL has expired; create the URL again')
}
