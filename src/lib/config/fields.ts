import { Type } from '../schema/type.ts'
import type { TUnsafe } from 'typebox'

/**
 * The kinds of value a config file can hold. Every field has a default, so that every key is optional, and a sentence
 * for the reference page.
 */
export const text = (value: string, description: string) => Type.String({ default: value, description })
export const optionalText = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
export const port = (value: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65_535, default: value, description })
export const flag = (value: boolean, description: string) => Type.Boolean({ default: value, description })
export const texts = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { default: [], description })

/** A duration as people write it (`72h`); read as milliseconds. */
export const duration = (value: string, description: string): TUnsafe<number> =>
  Type.Unsafe<number>({ type: 'string', format: 'duration', default: value, description })

/** A size as people write it (`5MiB`); read as bytes. */
export const size = (value: string, description: string): TUnsafe<number> =>
  Type.Unsafe<number>({ type: ['string', 'integer'], format: 'size', default: value, description })

/** A group of keys; an unknown one is an error. */
export const section = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { additionalProperties: false, default: {} })

/** A group that is there as a whole or not at all. */
export const optionalSection = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Optional(Type.Object(properties, { additionalProperties: false }))
