import { Readable } from 'node:stream'
import { yieldInTurns } from '../clock/run-in-turns.ts'

/** Objects from which on an answer is sent in pieces. */
const MANY_OBJECTS = 4_096
/** Objects that are serialized at once. */
const FEW_OBJECTS = 256
const CHUNK_LENGTH = 64 * 1024

/** Returns whether a value of JSON has so many objects that serializing it at once would delay other requests. */
export function isLargeJson(value: unknown): boolean {
  return hasMoreObjects(value, MANY_OBJECTS)
}

function hasMoreObjects(value: unknown, limit: number): boolean {
  const waiting = isObject(value) ? [value] : []
  for (let seen = 0; ; seen++) {
    const next = waiting.pop()
    if (next === undefined) return false
    const inner = Object.values(next)
    if (seen + waiting.length + inner.length > limit) return true
    for (const each of inner) if (isObject(each)) waiting.push(each)
  }
}

/**
 * Returns a stream of a value's JSON text, as JSON.stringify has it for objects without `toJSON`. Between pieces, the event loop
 * serves others.
 */
export function jsonStream(value: unknown): Readable {
  return Readable.from(yieldInTurns(jsonChunks(value)), { objectMode: false })
}

/** Yields a value's JSON text in pieces. */
export function* jsonChunks(value: unknown): Generator<string, void> {
  const writer = { text: '' }
  yield* write(value, writer)
  yield writer.text
}

function* write(value: unknown, writer: { text: string }): Generator<string, void> {
  if (!isObject(value) || !hasMoreObjects(value, FEW_OBJECTS)) {
    writer.text += JSON.stringify(value) ?? 'null'
    if (writer.text.length < CHUNK_LENGTH) return
    yield writer.text
    writer.text = ''
    return
  }
  let before = ''
  if (Array.isArray(value)) {
    writer.text += '['
    for (const inner of value) {
      writer.text += before
      before = ','
      yield* write(inner, writer)
    }
    writer.text += ']'
    return
  }
  writer.text += '{'
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue
    writer.text += `${before}${JSON.stringify(key)}:`
    before = ','
    yield* write(inner, writer)
  }
  writer.text += '}'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
