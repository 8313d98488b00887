import { Type } from '../schema/type.ts'
import type { TSchema, TUnsafe } from 'typebox'

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

export type TDuration = TUnsafe<string> & { readonly format: 'duration' }
export type TSize = TUnsafe<string | number> & { readonly format: 'size' }

/** A duration as people write it (`72h`); decoded to milliseconds. */
export const duration = (value: string, description: string): TDuration => ({
  ...Type.Unsafe<string>({ type: 'string', default: value, description }),
  format: 'duration',
})

export const optionalDuration = (description: string) =>
  Type.Optional<TDuration>({ ...Type.Unsafe<string>({ type: 'string', description }), format: 'duration' })

/** A size as people write it (`5MiB`); decoded to bytes. */
export const size = (value: string, description: string) => sizeOf({ default: value, description })
export const optionalSize = (description: string) => Type.Optional(sizeOf({ description }))

function sizeOf(options: object): TSize {
  return { ...Type.Unsafe<string | number>({ type: ['string', 'integer'], ...options }), format: 'size' }
}

/** A map whose names users choose. */
export const named = <S extends TSchema>(value: S, description: string) =>
  Type.Record(Type.String(), value, { default: {}, description })

/** A group of keys; an unknown one is an error. */
export const section = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { additionalProperties: false, default: {} })

/** A group that is there as a whole or not at all. */
export const optionalSection = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Optional(Type.Object(properties, { additionalProperties: false }))
