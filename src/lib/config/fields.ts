import { Type } from '../schema/type.ts'
import type { TSchema, TUnsafe } from 'typebox'

/**
 * Field types of configuration schemas. Every field has a default, so every key is optional, and a description for
 * the reference.
 */
export const text = (value: string, description: string) => Type.String({ default: value, description })
/** A non-empty string without a default. */
export const optionalText = (description: string) => Type.Optional(Type.String({ minLength: 1, description }))
/** A TCP port; 0 selects a free one. */
export const port = (value: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65_535, default: value, description })
/** A boolean. */
export const flag = (value: boolean, description: string) => Type.Boolean({ default: value, description })
/** A list of non-empty strings; empty by default. */
export const texts = (description: string) =>
  Type.Array(Type.String({ minLength: 1 }), { default: [], description })

/** Schema of a duration. */
export type TDuration = TUnsafe<string> & { readonly format: 'duration' }
/** Schema of a size in bytes. */
export type TSize = TUnsafe<string | number> & { readonly format: 'size' }

/** A duration such as `72h`, decoded to milliseconds. */
export const duration = (value: string, description: string): TDuration => ({
  ...Type.Unsafe<string>({ type: 'string', default: value, description }),
  format: 'duration',
})

/** A duration such as `72h` without a default, decoded to milliseconds. */
export const optionalDuration = (description: string) =>
  Type.Optional<TDuration>({ ...Type.Unsafe<string>({ type: 'string', description }), format: 'duration' })

/** A size such as `5MiB`, decoded to bytes. */
export const size = (value: string, description: string) => sizeOf({ default: value, description })
/** A size such as `5MiB` without a default, decoded to bytes. */
export const optionalSize = (description: string) => Type.Optional(sizeOf({ description }))

function sizeOf(options: object): TSize {
  return { ...Type.Unsafe<string | number>({ type: ['string', 'integer'], ...options }), format: 'size' }
}

/** A map with names chosen by users. */
export const named = <S extends TSchema>(value: S, description: string) =>
  Type.Record(Type.String(), value, { default: {}, description })

/** A group of keys; unknown keys are errors. */
export const section = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { additionalProperties: false, default: {} })

/** An optional group: present completely or not at all. */
export const optionalSection = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Optional(Type.Object(properties, { additionalProperties: false }))
