import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ClientDisconnected } from '../../../../lib/http/abort-on-close.ts'
import { toFault } from '../../../../lib/http/errors.ts'
import { STATUS_OF_KIND } from '../../../../lib/http/status.ts'
import type { Fault, FaultKind } from '../../../../lib/errors/fault.ts'

/** Codes of the Connect protocol, and their HTTP status. Source: connectrpc.com/docs/protocol#error-codes */
const STATUS_OF_CODE = {
  canceled: 499,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  unauthenticated: 401,
} as const

type ConnectCode = keyof typeof STATUS_OF_CODE

const CODE_OF_KIND: Readonly<Record<FaultKind, ConnectCode>> = {
  invalid: 'invalid_argument',
  unauthorized: 'unauthenticated',
  forbidden: 'permission_denied',
  missing: 'not_found',
  not_allowed: 'unimplemented',
  conflict: 'failed_precondition',
  too_large: 'resource_exhausted',
  internal: 'internal',
  unsupported: 'unimplemented',
  upstream: 'unavailable',
  unavailable: 'unavailable',
  timeout: 'deadline_exceeded',
}

const ERRORS = { render: (fault: Fault) => fault, schema: {} }
/** Codes of errors that mean for a client that its sandbox does not run. */
const NO_SANDBOX = new Set(['WORKSPACE_NOT_FOUND', 'WORKSPACE_NOT_RUNNING'])
/** How E2B's proxy answers in place of a sandbox that does not run; the SDKs look for the words. */
const NO_SANDBOX_STATUS = 502
const MAX_REASON_LENGTH = 300

/** A directory to create exists, which the SDKs report as a result. */
export class AlreadyExists extends Error {}

/** An error in the form of the Connect protocol. */
export interface ConnectError {
  readonly code: ConnectCode
  readonly message: string
}

/** Encodes an error for the Connect protocol. */
export function connectErrorOf(error: unknown): ConnectError {
  if (error instanceof AlreadyExists) return { code: 'already_exists', message: error.message }
  const { code, kind, message } = toFault(error as FastifyError, ERRORS)
  if (NO_SANDBOX.has(code)) return { code: 'unavailable', message: absence(message) }
  return { code: code === 'TOO_MANY_PROCESSES' ? 'resource_exhausted' : CODE_OF_KIND[kind], message }
}

/** Answers errors of a scope's routes in the form of the Connect protocol. */
export function mapConnectErrors(scope: FastifyInstance): void {
  scope.setErrorHandler<FastifyError>((error, request, reply) => {
    if (isAbsence(error)) return sendAbsence(reply, error)
    const sent = connectErrorOf(error)
    if (sent.code === 'internal') request.log.error({ err: error }, sent.message)
    return reply.status(STATUS_OF_CODE[sent.code]).send(sent)
  })
}

/**
 * Answers errors of a scope's routes in the form of E2B's API.
 *
 * @param isInside whether the routes belong to a sandbox, whose absence has its own status
 */
export function mapApiErrors(scope: FastifyInstance, isInside: boolean): void {
  scope.setErrorHandler<FastifyError>((error, request, reply) => {
    if (isInside && isAbsence(error)) return sendAbsence(reply, error)
    const { status, message } = beginReply(error, request, reply)
    return reply.send({ code: status, message })
  })
}

/**
 * Answers errors of a scope's routes like E2B's code interpreter, in plain text. Its SDK for JavaScript shows of most
 * errors only the status line, which has the message therefore.
 */
export function mapCodeErrors(scope: FastifyInstance): void {
  scope.setErrorHandler<FastifyError>((error, request, reply) => {
    const { message } = beginReply(error, request, reply)
    reply.raw.statusMessage = message.replace(/[^ -~]/g, '?').slice(0, MAX_REASON_LENGTH)
    void reply.type('text/plain; charset=utf-8')
    return isAbsence(error) ? reply.status(NO_SANDBOX_STATUS).send(absence(message)) : reply.send(message)
  })
}

/** Logs an unexpected error, and sets the status and `Retry-After` of the reply. */
function beginReply(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const { kind, message, retryAfterS } = toFault(error, ERRORS)
  const status = STATUS_OF_KIND[kind]
  if (status === 500 && !(error instanceof ClientDisconnected)) request.log.error({ err: error }, message)
  if (retryAfterS !== undefined) void reply.header('retry-after', retryAfterS)
  void reply.status(status)
  return { status, message }
}

function isAbsence(error: FastifyError): boolean {
  return NO_SANDBOX.has(toFault(error, ERRORS).code)
}

function sendAbsence(reply: FastifyReply, { message }: Error): FastifyReply {
  return reply.status(NO_SANDBOX_STATUS).send({ code: NO_SANDBOX_STATUS, message: absence(message) })
}

function absence(message: string): string {
  return `the sandbox was not found: ${message}`
}
