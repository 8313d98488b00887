import { createRequire } from 'node:module'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'
import type { SerializerFactory } from '@fastify/fast-json-stringify-compiler'

const require = createRequire(import.meta.url)

type Compilers = typeof import('@fastify/ajv-compiler')
type Serializers = typeof import('@fastify/fast-json-stringify-compiler')

/**
 * Fastify's own compilers of schemas, but each schema is compiled when it is first needed: all at once they took a server a
 * fifth of its start, and most are of routes that nobody asks.
 */
export const lazyCompilers: {
  readonly buildValidator: BuildCompilerFromPool
  readonly buildSerializer: SerializerFactory
} = {
  buildValidator(...given) {
    const compile = once(() => (require('@fastify/ajv-compiler') as Compilers).default()(...given))
    const lazily = (route: Parameters<ReturnType<BuildCompilerFromPool>>[0]) => {
      const validate = once(() => compile()(route))
      return (data: unknown) => validate()(data) === true || { error: validate().errors ?? [] }
    }
    // To Fastify it is one of any maker; the type knows Ajv's functions alone.
    return lazily as unknown as ReturnType<BuildCompilerFromPool>
  },
  buildSerializer(...given) {
    const compile = once(() =>
      (require('@fastify/fast-json-stringify-compiler') as Serializers).default()(...given),
    )
    return (route) => {
      const serialize = once(() => compile()(route))
      return (data) => serialize()(data)
    }
  },
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
