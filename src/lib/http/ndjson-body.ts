import type { FastifyInstance } from 'fastify'
import { httpFault } from './faults.ts'
import { depthFault } from './json-body.ts'

/** The values of an NDJSON body. */
export class Lines {
  readonly values: readonly unknown[]

  constructor(values: readonly unknown[]) {
    this.values = values
  }
}

/** Accepts `application/x-ndjson` bodies as `Lines` for the routes of a scope. Pages of other sites cannot post these without a preflight (threat H2). */
export function takeLines(scope: FastifyInstance): void {
  scope.addContentTypeParser('application/x-ndjson', { parseAs: 'buffer' }, (_request, body, done) => {
    const lines = body.toString().split('\n')
    try {
      done(
        null,
        new Lines(lines.flatMap((line, index) => (line.trim() === '' ? [] : [parseLine(line, index + 1)]))),
      )
    } catch (error) {
      done(error as Error)
    }
  })
}

function parseLine(line: string, number: number): unknown {
  const tooDeep = depthFault(line)
  if (tooDeep !== undefined) throw tooDeep
  try {
    return JSON.parse(line, line.includes('__proto__') || line.includes('\\u') ? withoutPrototype : undefined)
  } catch {
    throw httpFault('INVALID_REQUEST', `line ${number} of the body is not valid JSON`)
  }
}

/** JSON reviver that refuses prototype keys in any spelling (threat H9). */
function withoutPrototype(key: string, value: unknown): unknown {
  return key === '__proto__' ? undefined : value
}
