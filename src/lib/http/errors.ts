import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Fault, isFault } from '../errors/fault.ts'
import { ClientDisconnected } from './abort-on-close.ts'
import { followMethods } from './allowed-methods.ts'
import { httpFault } from './faults.ts'
import { STATUS_OF_KIND } from './status.ts'

const MAX_SHOWN = 80

/** A program's error body, and its codes for what fails validation. */
export interface ErrorShape {
  readonly render: (fault: Fault) => unknown
  /** JSON Schema of the body, for the API's description. */
  readonly schema: object
  /** HTML page instead of the body, for responses read by people. */
  readonly page?: (fault: Fault, request: FastifyRequest) => string | undefined
  /** Further headers of such a page. */
  readonly pageHeaders?: Readonly<Record<string, string>>
  readonly invalidField?: (field: string, message: string) => Fault | undefined
  /** Default: INVALID_REQUEST. */
  readonly invalidQuery?: (message: string) => Fault
}

/** Converts every exception to the program's error body. A bug becomes INTERNAL_ERROR, and its cause is logged. */
export function mapErrors(app: FastifyInstance, shape: ErrorShape): void {
  const allowedMethods = followMethods(app)
  app.setErrorHandler<FastifyError>((error, request, reply) => {
    // Fastify reads the body first, which can fail before anyone sees that there is no such route.
    if (request.is404 && !isFault(error)) return noRoute(request, reply)
    const fault = toFault(error, shape)
    const status = STATUS_OF_KIND[fault.kind]
    // Temporary unavailability is a response, not a failure of the server.
    const isExpected = (isFault(error) && fault.kind === 'unavailable') || error instanceof ClientDisconnected
    if (status >= 500 && !isExpected) request.log.error({ err: error, code: fault.code }, fault.message)
    if (fault.kind === 'unauthorized') void reply.header('www-authenticate', 'Bearer')
    if (fault.retryAfterS !== undefined) void reply.header('retry-after', fault.retryAfterS)
    return send(fault, status, request, reply)
  })
  const noRoute = (request: FastifyRequest, reply: FastifyReply) => {
    const [path = ''] = request.url.split('?')
    const methods = allowedMethods(path)
    // A route may call this itself.
    if (methods.length === 0 || methods.includes(request.method))
      return send(httpFault('ROUTE_NOT_FOUND', `no route ${request.method} ${path}`), 404, request, reply)
    const allow = methods.join(', ')
    const fault = httpFault('METHOD_NOT_ALLOWED', `${path} does not support ${request.method}; use ${allow}`)
    return send(fault, 405, request, reply.header('allow', allow))
  }
  app.setNotFoundHandler(noRoute)
  const send = (fault: Fault, status: number, request: FastifyRequest, reply: FastifyReply) =>
    sendFault(shape, fault, request, reply.status(status))
}

/** Sends an error as a page or as a body. */
export function sendFault(
  { page: createPage, pageHeaders = {}, render }: ErrorShape,
  fault: Fault,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const page = createPage?.(fault, request)
  if (page === undefined) return reply.send(render(fault))
  return reply
    .headers({ ...pageHeaders, 'cache-control': 'no-store' })
    .type('text/html; charset=utf-8')
    .send(page)
}

/** Converts an exception to a fault with the program's codes. */
export function toFault(error: FastifyError, shape: ErrorShape): Fault {
  if (isFault(error)) return error
  if (error.validation) return validationFault(error, shape)
  if (error.statusCode === 413) return httpFault('REQUEST_TOO_LARGE', 'the request body exceeds 1 MiB', error)
  if (error.statusCode === 415) {
    return httpFault(
      'INVALID_REQUEST',
      'the request body must be JSON, sent with content-type application/json',
    )
  }
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return httpFault('INVALID_REQUEST', error.message, error)
  }
  return httpFault('INTERNAL_ERROR', 'internal error; see the server log', error)
}

/** A violation as Ajv reports it with `verbose`. */
interface Violation {
  readonly keyword: string
  readonly instancePath: string
  readonly message?: string
  readonly params: {
    readonly missingProperty?: string
    readonly additionalProperty?: string
    readonly allowedValues?: readonly unknown[]
  }
  readonly parentSchema?: { readonly description?: string }
  readonly data?: unknown
}

function validationFault(error: FastifyError, shape: ErrorShape): Fault {
  const all = (error.validation ?? []) as readonly Violation[]
  // Of several shapes, one whose field is invalid was meant, rather than one that does not have the field.
  const first = all.find(({ instancePath, keyword }) => instancePath !== '' && keyword !== 'const') ?? all[0]
  if (error.validationContext === 'querystring') {
    const message = first?.message ?? 'the query is not valid'
    return shape.invalidQuery?.(message) ?? httpFault('INVALID_REQUEST', message)
  }
  const field = first?.instancePath.split('/')[1] ?? first?.params.missingProperty ?? ''
  const message = textOf(first, error.validationContext ?? 'body')
  return shape.invalidField?.(field, message) ?? httpFault('INVALID_REQUEST', message)
}

function textOf(violation: Violation | undefined, where: string): string {
  if (violation === undefined) return `${where} is not valid`
  const { instancePath, params, data, message = 'is not valid' } = violation
  const path = instancePath.split('/').slice(1).join('.')
  if (params.additionalProperty !== undefined)
    return `${where} has an unknown field "${params.additionalProperty}"`
  const rule = ruleOf(violation)
  if (rule !== undefined) return `${path} ${JSON.stringify(data)?.slice(0, MAX_SHOWN)} must be ${rule}`
  return path === '' ? `${where} ${message}` : `${where} ${path} ${message}`
}

/** Returns the rule of an enumeration or pattern, whose schema describes it; undefined for other keywords. */
function ruleOf({ keyword, params, parentSchema }: Violation): string | undefined {
  if (params.allowedValues !== undefined) return `one of ${params.allowedValues.join(', ')}`
  return keyword === 'pattern' ? parentSchema?.description : undefined
}
