import { isEnvelopeId, isNamespace, isRecord, receivedFromWire } from '../../../lib/envelope/envelope.ts'
import type { ExtensionHealth } from '../../../lib/guest/extension.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import { BACKEND_NAMES } from '../../backend-name.ts'
import type { BackendName } from '../../backend-name.ts'
import type { Answer } from '../bus.ts'
import type { ConnectedGuest, ConnectedWorkspace, GuestMessage } from '../guest-message.ts'
import type { Peer } from './peers.ts'

// Messages between the servers of one bus over NATS. Every client that may publish there is trusted like a
// server. Input is still validated, so that a bug or another version on one server cannot bring down the
// others.

/**
 * NATS subjects, shared or per server. Server names are hex-encoded because they may contain characters that
 * subjects cannot.
 */
export const SUBJECTS = {
  hello: 'workspace-bus.hello',
  claim: 'workspace-bus.claim',
  message: (server: string) => `workspace-bus.message.${tokenOf(server)}`,
  answer: (server: string) => `workspace-bus.answer.${tokenOf(server)}`,
  workspaces: (server: string) => `workspace-bus.workspaces.${tokenOf(server)}`,
} as const

const tokenOf = (server: string): string => Buffer.from(server).toString('hex')

/** An announcement of a server. */
export type Hello = Peer & { readonly isLeaving: boolean }

/** Encodes an announcement. */
export function helloToWire({ server, instance, listeners, isLeaving }: Hello): string {
  const entries = [...listeners].map(([namespace, since]) => ({ namespace, created_at: since.toISOString() }))
  return JSON.stringify({ server, instance, listeners: entries, leaving: isLeaving })
}

/** Decodes an announcement; undefined when it is invalid. */
export function helloFromWire(text: string): Hello | undefined {
  const { server, instance, listeners, leaving } = parse(text)
  if (!isName(server) || typeof instance !== 'string' || !Array.isArray(listeners)) return undefined
  const entries = listeners
    .filter(isRecord)
    .flatMap(({ namespace, created_at }) =>
      isNamespace(namespace) && isTime(created_at) ? [[namespace, new Date(created_at)] as const] : [],
    )
  return { server, instance, listeners: new Map(entries), isLeaving: leaving === true }
}

/** A server's wish to listen to a namespace. */
export interface Claim {
  readonly server: string
  readonly namespace: string
  readonly since: Date
  /** Whether the claim is withdrawn. */
  readonly isWithdrawn: boolean
}

/** Encodes a claim. */
export function claimToWire({ server, namespace, since, isWithdrawn }: Claim): string {
  return JSON.stringify({ server, namespace, created_at: since.toISOString(), withdrawn: isWithdrawn })
}

/** Decodes a claim; undefined when it is invalid. */
export function claimFromWire(text: string): Claim | undefined {
  const { server, namespace, created_at: since, withdrawn } = parse(text)
  if (!isName(server) || !isNamespace(namespace) || !isTime(since)) return undefined
  return { server, namespace, since: new Date(since), isWithdrawn: withdrawn === true }
}

type ClaimOrder = Pick<Claim, 'server' | 'since'>

/** Orders two claims: the earlier one wins, and at the same time the server whose name sorts first. */
export function isBefore(one: ClaimOrder, other: ClaimOrder): boolean {
  const apart = one.since.getTime() - other.since.getTime()
  return apart === 0 ? one.server < other.server : apart < 0
}

/** A server's reply to a claim. */
export interface ClaimReply {
  readonly server: string
  readonly stand: (typeof STANDS)[number]
}

/**
 * Replies to a claim. `free`: no objection; `claimed`: claimed by that server or another; `held`: listened to
 * there.
 */
const STANDS = ['free', 'claimed', 'held'] as const

/** Encodes a reply to a claim. */
export function claimReplyToWire({ server, stand }: ClaimReply): string {
  return JSON.stringify({ server, stand })
}

/** Decodes a reply to a claim; undefined when it is invalid. */
export function claimReplyFromWire(text: string): ClaimReply | undefined {
  const { server, stand } = parse(text)
  const valid = STANDS.find((each) => each === stand)
  return isName(server) && valid !== undefined ? { server, stand: valid } : undefined
}

/** Encodes a guest's message; the unparsed payload follows on a separate line. */
export function messageToWire({ envelope, workspace }: GuestMessage): string {
  const { payloadJson, ...head } = envelope
  return `${JSON.stringify({ ...head, workspace })}\n${payloadJson}`
}

/** Decodes a guest's message; undefined when it is invalid. */
export function messageFromWire(text: string): GuestMessage | undefined {
  const end = text.indexOf('\n')
  const head = parse(text.slice(0, Math.max(0, end)))
  const payloadJson = text.slice(end + 1)
  const envelope = receivedFromWire({ ...head, payload: {} })
  const workspace = workspaceOf(head['workspace'])
  if (envelope === undefined || envelope.type === 'response' || workspace === undefined) return undefined
  if (!payloadJson.startsWith('{') || payloadJson.includes('\n')) return undefined
  return { envelope: { ...envelope, payloadJson }, workspace }
}

/** An answer on its way to another server. */
export interface SentAnswer {
  readonly namespace: string
  readonly answer: Answer
}

/** Encodes an answer. */
export function answerToWire({ namespace, answer }: SentAnswer): string {
  const { workspaceName, inReplyTo, isFinal, payload } = answer
  return JSON.stringify({
    namespace,
    workspace: workspaceName,
    in_reply_to: inReplyTo,
    final: isFinal,
    payload,
  })
}

/** Decodes an answer; undefined when it is invalid. */
export function answerFromWire(text: string): SentAnswer | undefined {
  const { namespace, workspace, in_reply_to: inReplyTo, final, payload } = parse(text)
  if (!isNamespace(namespace) || !isName(workspace) || !isEnvelopeId(inReplyTo) || !isRecord(payload))
    return undefined
  return { namespace, answer: { workspaceName: workspace, inReplyTo, isFinal: final !== false, payload } }
}

/** Encodes the failure of an answer; a successful one is reported as ''. */
export function failureToWire(error: unknown): string {
  if (isFault(error)) return JSON.stringify({ code: error.code, message: error.message })
  return JSON.stringify({ code: 'INTERNAL_ERROR', message: 'the server of the workspace failed' })
}

/** Decodes the failure of an answer. */
export function failureFromWire(text: string): { readonly code: string; readonly message: string } {
  const { code, message } = parse(text)
  return {
    code: typeof code === 'string' ? code : 'INTERNAL_ERROR',
    message: typeof message === 'string' ? message : 'the server of the workspace failed',
  }
}

/** Encodes the connected workspaces. */
export function guestsToWire(guests: readonly ConnectedGuest[]): string {
  return JSON.stringify(guests)
}

/** Decodes the connected workspaces, dropping invalid ones. */
export function guestsFromWire(text: string): readonly ConnectedGuest[] {
  const { guests } = parse(`{"guests":${text}}`)
  return (Array.isArray(guests) ? guests : []).filter(isRecord).flatMap((guest) => {
    const workspace = workspaceOf(guest)
    const extensions = Array.isArray(guest['extensions']) ? guest['extensions'].flatMap(healthOf) : []
    return workspace === undefined ? [] : [{ ...workspace, extensions }]
  })
}

function healthOf(value: unknown): readonly ExtensionHealth[] {
  if (!isRecord(value)) return []
  const { namespace, guest, host } = value
  if (typeof namespace !== 'string' || typeof guest !== 'string') return []
  return [{ namespace, guest, host: host === 'connected' ? 'connected' : 'disconnected' }]
}

function workspaceOf(value: unknown): ConnectedWorkspace | undefined {
  if (!isRecord(value)) return undefined
  const { name, backend, server } = value
  if (!isName(name) || !isName(server) || !isBackend(backend)) return undefined
  return { name, backend, server }
}

function isBackend(value: unknown): value is BackendName {
  return (BACKEND_NAMES as readonly unknown[]).includes(value)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 255
}

function isTime(value: unknown): value is string {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value))
}

/** Parses a JSON object; returns an empty object for anything else. */
function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : {}
  } catch {
    return {}
  }
}
