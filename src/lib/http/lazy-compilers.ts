import { createRequire } from 'node:module'
import type { BuildCompilerFromPool } from '@fastify/ajv-compiler'
import type { SerializerFactory } from '@fastify/fast-json-stringify-compiler'

const require = createRequire(import.meta.url)

type Compilers = typeof import('@fastify/ajv-compiler')
type Serializers = typeof import('@fastify/fast-json-stringify-compiler')

/**
 * Fastify's schema compilers, but each schema is compiled on first use: compiling all of them took a fifth of a server's startup,
 * and most routes are never called.
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
    // Fastify accepts any compiler; its type allows only Ajv's functions.
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
