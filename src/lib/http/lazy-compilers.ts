import { createRequire } from 'node:module'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'
import type { SerializerFactory } from '@fastify/fast-json-stringify-compiler'
import { decodeQuery, type RawQuery } from './query.ts'

const require = createRequire(import.meta.url)

type Compilers = typeof import('@fastify/ajv-compiler')
/** Schema that Fastify passes to a compiler; the compilers' types lack it. */
interface RouteSchema {
  readonly httpPart?: string
  readonly schema: object
}

type Serializers = typeof import('@fastify/fast-json-stringify-compiler')

// Servers of one process share what is compiled: Ajv keeps validators by schema, and schemas are constants.
const validators = once(() => (require('@fastify/ajv-compiler') as Compilers).default())
const serializers = once(() => (require('@fastify/fast-json-stringify-compiler') as Serializers).default())
const serializersBySchema = new WeakMap<object, (data: unknown) => string>()

/**
 * Fastify's schema compilers, but each schema is compiled on first use: compiling all of them took a fifth of a server's startup,
 * and most routes are never called.
 */
export const lazyCompilers: {
  readonly buildValidator: BuildCompilerFromPool
  readonly buildSerializer: SerializerFactory
} = {
  buildValidator(...given) {
    const compile = once(() => validators()(...given))
    const lazily = (route: RouteSchema) => {
      // Parts of the path are described only: handlers parse them, each with its own error code.
      if (route.httpPart === 'params') return () => true
      if (route.httpPart === 'querystring') return (query: RawQuery) => validateQuery(route.schema, query)
      const validate = once(() => compile()(route))
      return (data: unknown) => validate()(data) === true || { error: validate().errors ?? [] }
    }
    // Fastify accepts any compiler; its type allows only Ajv's functions.
    return lazily as unknown as ReturnType<BuildCompilerFromPool>
  },
  buildSerializer(...given) {
    const compile = once(() => serializers()(...given))
    return (route) => {
      const { schema } = route as RouteSchema
      const serialize = once(() => {
        const made = serializersBySchema.get(schema) ?? compile()(route)
        serializersBySchema.set(schema, made)
        return made
      })
      return (data) => serialize()(data)
    }
  },
}

/** Decodes a query, with an error in Ajv's form. */
function validateQuery(schema: object, query: RawQuery) {
  const decoded = decodeQuery(schema, query)
  if ('value' in decoded) return decoded
  return { error: [{ instancePath: '', keyword: 'query', message: decoded.wrong, params: {} }] }
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
