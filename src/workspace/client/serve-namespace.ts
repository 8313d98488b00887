import { setTimeout as delay } from 'node:timers/promises'
import { answerToWire, type Envelope, envelopeFromWire, isRecord, PING } from '../../lib/envelope/envelope.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { AnswerBatcher } from './answer-batcher.ts'
import { WorkspaceClient } from './client.ts'
import type { ServerAddress } from './server-address.ts'

const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 5_000

/** A message from a program inside a workspace. The server, not the program, determines `workspace`. */
export interface ExtensionMessage {
  readonly id: string
  readonly type: 'request' | 'event'
  readonly payload: Readonly<Record<string, unknown>>
  readonly workspace: { readonly name: string; readonly backend: string; readonly server: string }
}

/** Options of `serveNamespace`. */
export interface ServeOptions {
  /** Address of the workspace server; default `http://127.0.0.1:8080`. */
  readonly server?: Omit<ServerAddress, 'name'>
  /** Aborting it stops listening. */
  readonly signal?: AbortSignal
  /** Called when listening starts, including after each reconnection. */
  readonly onListening?: () => void
  /** Called with a message when listening or answering fails; listening is retried. */
  readonly onProblem?: (sentence: string) => void
}

/**
 * Runs the host side of an extension: listens to a namespace and answers each request with the result of `answer`, which is ignored
 * for events. An error it throws is sent as `{error, code: "EXTENSION_FAILED"}`. Reconnects to the server until `signal` aborts,
 * and then gets the requests that it has not received; each request is handled once.
 */
export async function serveNamespace(
  namespace: string,
  answer: (message: ExtensionMessage) => unknown,
  options: ServeOptions = {},
): Promise<void> {
  const { signal, onListening, onProblem = () => undefined } = options
  const server = { name: 'local', url: 'http://127.0.0.1:8080', ...options.server }
  const client = new WorkspaceClient(server)
  const path = `/api/plugins/listeners/${encodeURIComponent(namespace)}`
  const answers = new AnswerBatcher((lines) => client.sendLines(`${path}/respond`, lines), onProblem)
  const handle = async (message: ExtensionMessage): Promise<void> => {
    const payload = await payloadFor(message, answer)
    if (message.type === 'event') return
    const { name, server: home } = message.workspace
    answers.add(answerToWire({ name, server: home }, message.id, payload))
  }
  let lastEventId: string | undefined
  for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
    try {
      await client.follow(
        `${path}/messages`,
        (_event, content, id) => {
          lastEventId = id ?? lastEventId
          const message = messageOfEvent(content)
          if (message === undefined) return onProblem('ignored an invalid message')
          void handle(message)
        },
        {
          ...(signal !== undefined && { signal }),
          lastEventId,
          onOpen(continuesFrom) {
            lastEventId = continuesFrom ?? lastEventId
            retryMs = FIRST_RETRY_MS
            onListening?.()
          },
        },
      )
    } catch (error) {
      if (signal?.aborted === true) return
      onProblem(messageOf(error))
    }
    // Jitter, so that many extensions do not reconnect to a restarted server at the same time.
    await delay(retryMs * (0.5 + Math.random()), undefined, { signal }).catch(
      ignore('a wait that was aborted'),
    )
    if (signal?.aborted === true) return
  }
}

async function payloadFor(
  message: ExtensionMessage,
  answer: (message: ExtensionMessage) => unknown,
): Promise<Envelope['payload']> {
  if (message.type === 'request' && message.payload['operation'] === PING) return {}
  try {
    const payload = await answer(message)
    return isRecord(payload) ? payload : {}
  } catch (error) {
    return { error: messageOf(error), code: 'EXTENSION_FAILED' }
  }
}

function messageOfEvent(content: unknown): ExtensionMessage | undefined {
  const envelope = envelopeFromWire(content)
  const workspace = isRecord(content) ? content['workspace'] : undefined
  if (envelope === undefined || envelope.type === 'response' || !isRecord(workspace)) return undefined
  const { name, backend, server } = workspace
  if (typeof name !== 'string' || typeof backend !== 'string' || typeof server !== 'string') return undefined
  const { id, type, payload } = envelope
  return { id, type, payload, workspace: { name, backend, server } }
}
