type CamelKey<K> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelKey<Tail>>}` : K

/** A wire type as clients in TypeScript see it: names in camelCase, except the keys of maps such as labels. */
export type CamelCase<T> = T extends readonly (infer Item)[]
  ? readonly CamelCase<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : { readonly [K in keyof T as CamelKey<K>]: CamelCase<T[K]> }
    : T

/** Properties whose value is a map: its keys are the user's. */
const MAPS: ReadonlySet<string> = new Set(['labels', 'env', 'data'])

/** Decodes the names of a value from the wire. */
export function namesFromWire(value: unknown): unknown {
  return renamed(value, (name) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()))
}

/** Encodes the names of a value for the wire. */
export function namesToWire(value: unknown): unknown {
  return renamed(value, (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      rename(name),
      MAPS.has(name) ? inner : renamed(inner, rename),
    ]),
  )
}
