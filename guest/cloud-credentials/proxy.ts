import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { publish, PublishError } from '../../src/lib/guest/publish.ts'
import { isLocal } from '../loopback.ts'

const NAMESPACE = 'cloud-credentials'
const PORT = 499
const TIMEOUT_MS = 3_000
const PING_TIMEOUT_MS = 2_000
const KEEP_ALIVE_MS = 60_000
/** Maximum number of pending connections; a parallel test run opens many. */
const BACKLOG = 4096

/** The proxy's own error codes with their statuses; errors of the agent and the host have 503 and 502. */
export const PROXY_CODES = {
  UNAUTHORIZED: 401,
  FORBIDDEN_HOST: 403,
  NO_ROLE: 403,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  INTERNAL_ERROR: 500,
  TIMEOUT: 504,
} as const

/** Command line options. */
export const PROXY_FLAGS = {
  port: { type: 'string', default: String(PORT) },
  'token-file': { type: 'string' },
} as const

/** Options of the credentials proxy. */
export interface ProxyOptions {
  readonly port?: number
  readonly agentUrl?: string | undefined
  /** Required value of `Authorization` (threat C5). */
  readonly token?: string | undefined
  readonly timeoutMs?: number
}

/** An error response to an SDK. */
interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly hint: string
}

const HINT = 'contact the operator of the workspace server; its log has details'

/** Serves the credentials issued by the host at `GET /credentials` on the loopback address. Stores none. */
export function serveCredentials(options: ProxyOptions = {}): Server {
  const server = createServer(
    { requestTimeout: 10_000, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => {
      void answer(request, response, options)
    },
  )
  return server.listen({ port: options.port ?? PORT, host: '127.0.0.1', backlog: BACKLOG })
}

/** Whether the host's program responds within 2 s; prints the reason on standard error if not. */
export async function pingHost(agentUrl?: string): Promise<boolean> {
  try {
    await publish(NAMESPACE, { operation: 'ping' }, { agentUrl, timeoutMs: PING_TIMEOUT_MS })
    return true
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    console.error(`workspace-ext-cloud-credentials: the host does not respond yet: ${why}`)
    return false
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: ProxyOptions,
): Promise<void> {
  const refusal = refusalOf(request, options.token)
  if (refusal !== undefined) return refuse(response, refusal)
  try {
    const { agentUrl, timeoutMs = TIMEOUT_MS } = options
    const payload = await publish(NAMESPACE, { operation: 'get_credentials' }, { agentUrl, timeoutMs })
    const { access_key_id: id, secret_access_key: secret, session_token: token, expiration } = payload
    if ([id, secret, token, expiration].every((each) => typeof each === 'string'))
      send(response, 200, { AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: expiration })
    else refuse(response, refusedByHost(payload))
  } catch (error) {
    refuse(response, failed(error))
  }
}

function refusalOf(request: IncomingMessage, token: string | undefined): Refusal | undefined {
  const { headers, url, method } = request
  if (!isLocal(request))
    return ownRefusal(
      'FORBIDDEN_HOST',
      'only programs of this machine can request credentials',
      'use http://127.0.0.1:499/credentials',
    )
  if (url !== '/credentials') return ownRefusal('ROUTE_NOT_FOUND', 'unknown route', 'use GET /credentials')
  if (method !== 'GET') return ownRefusal('METHOD_NOT_ALLOWED', '/credentials supports only GET', 'use GET')
  if (token !== undefined && !isSame(headers.authorization ?? '', token))
    return ownRefusal(
      'UNAUTHORIZED',
      'the token is missing or wrong',
      'set AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE to the file that --token-file names',
    )
  return undefined
}

function ownRefusal(code: keyof typeof PROXY_CODES, message: string, hint: string): Refusal {
  return { status: PROXY_CODES[code], code, message, hint }
}

/** Converts a response of the host without credentials. */
function refusedByHost({ error, code }: Readonly<Record<string, unknown>>): Refusal {
  const isNoRole = code === 'NO_ROLE'
  return {
    // SDKs must not retry if it cannot succeed.
    status: isNoRole ? PROXY_CODES.NO_ROLE : 502,
    code: typeof code === 'string' ? code : 'INTERNAL_ERROR',
    message: typeof error === 'string' ? error : 'the host’s response has no credentials',
    hint: isNoRole ? 'set a role for this workspace in the host’s configuration' : HINT,
  }
}

function failed(error: unknown): Refusal {
  if (!(error instanceof PublishError))
    return { status: 500, code: 'INTERNAL_ERROR', message: 'the proxy failed', hint: HINT }
  const { code, message } = error
  return code === 'TIMEOUT'
    ? {
        status: PROXY_CODES.TIMEOUT,
        code,
        message: 'the host issued no credentials within 3 s',
        hint: 'check on the host that workspace-ext-cloud-credentials-host is running, and its log',
      }
    : { status: 503, code, message, hint: HINT }
}

/** SDKs look for the code and the message under different names: Go's for `code`, JavaScript's for `Code`. */
function refuse(response: ServerResponse, { status, code, message, hint }: Refusal): void {
  send(response, status, { error: code, message, hint, code, Code: code, Message: message })
}

function send(response: ServerResponse, status: number, body: object): void {
  const headers = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  }
  response.writeHead(status, headers).end(JSON.stringify(body))
}

/** Compares in constant time. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(hash(given), hash(wanted))
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
