import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { publish, PublishError } from '../../src/lib/guest/publish.ts'
import { isLocal } from '../loopback.ts'

const NAMESPACE = 'cloud-credentials'
const PORT = 499
const TIMEOUT_MS = 3_000
const PING_TIMEOUT_MS = 2_000
const KEEP_ALIVE_MS = 60_000
/** How many may come at once: the programs of a whole test run do. */
const BACKLOG = 4096

/** Every code of its own, and the status that goes with each; those of the agent and of the host come with 503 and 502. */
export const PROXY_CODES = {
  UNAUTHORIZED: 401,
  FORBIDDEN_HOST: 403,
  NO_ROLE: 403,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  INTERNAL_ERROR: 500,
  TIMEOUT: 504,
} as const

/** What its command line takes. */
export const PROXY_FLAGS = {
  port: { type: 'string', default: String(PORT) },
  'token-file': { type: 'string' },
} as const

export interface ProxyOptions {
  readonly port?: number
  readonly agentUrl?: string | undefined
  /** What whoever asks must then show in `Authorization`, as it is (threat C5). */
  readonly token?: string | undefined
  readonly timeoutMs?: number
}

/** What an SDK is told instead of credentials. */
interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly hint: string
}

const HINT = 'ask whoever runs the workspace server; its log says more'

/** Hands programs of this machine the credentials that the host issues: `GET /credentials` on the loopback address. Keeps none. */
export function serveCredentials(options: ProxyOptions = {}): Server {
  const server = createServer(
    { requestTimeout: 10_000, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => {
      void answer(request, response, options)
    },
  )
  return server.listen({ port: options.port ?? PORT, host: '127.0.0.1', backlog: BACKLOG })
}

/** Whether the host's side answers; says on standard error when it does not within 2 s. */
export async function pingHost(agentUrl?: string): Promise<boolean> {
  try {
    await publish(NAMESPACE, { operation: 'ping' }, { agentUrl, timeoutMs: PING_TIMEOUT_MS })
    return true
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    console.error(`workspace-ext-cloud-credentials: the host does not answer yet: ${why}`)
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
      'only programs of this machine may ask',
      'ask http://127.0.0.1:499/credentials',
    )
  if (url !== '/credentials')
    return ownRefusal('ROUTE_NOT_FOUND', 'there is GET /credentials alone', 'ask for that')
  if (method !== 'GET')
    return ownRefusal('METHOD_NOT_ALLOWED', '/credentials takes GET alone', 'ask with GET')
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

/** The host's side answered, and has no credentials. */
function refusedByHost({ error, code }: Readonly<Record<string, unknown>>): Refusal {
  const isNoRole = code === 'NO_ROLE'
  return {
    // Where asking again is of no use, SDKs are not told to.
    status: isNoRole ? PROXY_CODES.NO_ROLE : 502,
    code: typeof code === 'string' ? code : 'INTERNAL_ERROR',
    message: typeof error === 'string' ? error : 'the host answered something else than credentials',
    hint: isNoRole ? 'the host’s configuration says which role this workspace has' : HINT,
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
        hint: 'see on the host that workspace-ext-cloud-credentials-host runs, and what it logs',
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

/** In a time that tells nothing of where they differ. */
function isSame(given: string, wanted: string): boolean {
  return timingSafeEqual(hash(given), hash(wanted))
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
