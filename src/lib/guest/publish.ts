import { isRecord } from '../envelope/envelope.ts'
import { ignore } from '../errors/ignore.ts'

const AGENT_URL = 'http://127.0.0.1:498'

/** Options of `publish`. */
export interface PublishOptions {
  /** The agent's URL; default `http://127.0.0.1:498`. */
  readonly agentUrl?: string | undefined
  /** Maximum wait for the response; default: the agent's limit, 30 s. */
  readonly timeoutMs?: number
}

/** An error reported by the agent, with its code; `TIMEOUT` also when `timeoutMs` has elapsed. */
export class PublishError extends Error {
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * Guest side of an extension: sends a request to a namespace's listener on the host and returns the payload of the response. For
 * programs inside a virtual machine.
 *
 * @throws PublishError
 */
export async function publish(
  namespace: string,
  payload: Readonly<Record<string, unknown>>,
  options: PublishOptions = {},
): Promise<Readonly<Record<string, unknown>>> {
  const answer = await post({ namespace, type: 'request', payload }, options)
  let cause: unknown
  try {
    const content: unknown = await answer.json()
    if (isRecord(content) && isRecord(content['payload'])) return content['payload']
  } catch (error) {
    if (isTimeout(error)) throw timedOut(options, error)
    cause = error
  }
  throw new PublishError('INTERNAL_ERROR', 'the agent’s response has no payload', { cause })
}

/** Sends an event, which gets no response. @throws PublishError when it is not accepted */
export async function publishEvent(
  namespace: string,
  payload: Readonly<Record<string, unknown>>,
  options: PublishOptions = {},
): Promise<void> {
  await post({ namespace, type: 'event', payload }, options)
}

async function post(message: object, options: PublishOptions): Promise<Response> {
  const { agentUrl = AGENT_URL, timeoutMs } = options
  let answer: Response
  try {
    answer = await fetch(new URL('/v1/publish', agentUrl), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
    })
  } catch (error) {
    if (isTimeout(error)) throw timedOut(options, error)
    throw new PublishError('NO_CONNECTION', `the agent at ${agentUrl} cannot be reached`, { cause: error })
  }
  if (answer.ok) return answer
  const content: unknown = await answer.json().catch(ignore('the status of the response is reported instead'))
  const said = isRecord(content) && isRecord(content['error']) ? content['error'] : {}
  throw new PublishError(
    typeof said['code'] === 'string' ? said['code'] : 'INTERNAL_ERROR',
    typeof said['message'] === 'string'
      ? said['message']
      : `the agent responded with status ${answer.status}`,
  )
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && error.name === 'TimeoutError'
}

function timedOut({ timeoutMs }: PublishOptions, cause: unknown): PublishError {
  return new PublishError('TIMEOUT', `no response within ${timeoutMs} ms`, { cause })
}
