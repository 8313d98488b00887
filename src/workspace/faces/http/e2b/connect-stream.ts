import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { depthFault } from '../../../../lib/http/json-body.ts'
import { complaint, fits } from '../../../../lib/schema/parse-json.ts'
import { fault } from '../../../errors.ts'
import { type ConnectError, connectErrorOf } from './errors.ts'
import { PacedResponse } from './paced-response.ts'

const PREFIX_BYTES = 5
const COMPRESSED = 0b01
const END_STREAM = 0b10
const MAX_MESSAGE_BYTES = 2 ** 20
const PING_S = { default: 90, min: 5, max: 300 }

/**
 * Decodes the messages of a streaming request: JSON behind one byte of flags and four of length.
 *
 * @throws INVALID_REQUEST for bytes that are not such messages, or too long
 */
export async function* readMessages<S extends TSchema>(body: Readable, schema: S): AsyncGenerator<Static<S>> {
  let read: Buffer = Buffer.alloc(0)
  for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    read = read.length === 0 ? chunk : Buffer.concat([read, chunk])
    while (read.length >= PREFIX_BYTES) {
      const flags = read.readUInt8(0)
      const length = read.readUInt32BE(1)
      if ((flags & COMPRESSED) !== 0) throw fault('INVALID_REQUEST', 'compressed messages are not supported')
      if (length > MAX_MESSAGE_BYTES)
        throw fault('INVALID_REQUEST', `a message has ${length} bytes, more than the limit of 1 MiB`)
      if (read.length < PREFIX_BYTES + length) break
      const message = read.subarray(PREFIX_BYTES, PREFIX_BYTES + length)
      read = read.subarray(PREFIX_BYTES + length)
      if ((flags & END_STREAM) !== 0) return
      yield parseMessage(message.toString(), schema)
    }
  }
  if (read.length > 0) throw fault('INVALID_REQUEST', 'the request ends within a message')
}

/** Reads the only message of a request whose response is a stream. @throws INVALID_REQUEST */
export async function readMessage<S extends TSchema>(body: Readable, schema: S): Promise<Static<S>> {
  for await (const message of readMessages(body, schema)) return message
  throw fault('INVALID_REQUEST', 'the request has no message')
}

function parseMessage<S extends TSchema>(text: string, schema: S): Static<S> {
  const tooDeep = depthFault(text)
  if (tooDeep !== undefined) throw tooDeep
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch (error) {
    throw fault('INVALID_REQUEST', 'a message is not valid JSON', error)
  }
  return checkMessage(message, schema)
}

/** @throws INVALID_REQUEST when a message violates its schema */
export function checkMessage<S extends TSchema>(message: unknown, schema: S): Static<S> {
  if (fits(schema, message)) return message
  throw fault('INVALID_REQUEST', `the message is not valid: ${complaint(schema, message)}`)
}

/** Encodes one message of a stream. */
export function encodeMessage(message: unknown, flags = 0): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt8(flags, 0)
  prefix.writeUInt32BE(json.length, 1)
  return Buffer.concat([prefix, json])
}

/** A response of messages. Senders wait for slow readers; a vanished reader is noticed by pings. */
export class ConnectStream {
  readonly #response: PacedResponse

  /** @param ping the message that keeps the connection alive */
  constructor(reply: FastifyReply, ping: unknown) {
    this.#response = new PacedResponse(reply, {
      contentType: 'application/connect+json',
      ping: encodeMessage(ping),
      pingMs: pingMs(reply.request.headers['keepalive-ping-interval']),
    })
  }

  /** Sends a message; returns a promise while the reader has no room for more. */
  send(message: unknown): Promise<void> | undefined {
    return this.#response.send(encodeMessage(message))
  }

  /** Ends the stream, with an error if given. */
  end(error?: ConnectError): void {
    this.#response.end(encodeMessage(error === undefined ? {} : { error }, END_STREAM))
  }

  /** Ends the stream with an exception. */
  fail(error: unknown): void {
    this.end(connectErrorOf(error))
  }
}

function pingMs(header: string | readonly string[] | undefined): number {
  const seconds = /^\d{1,6}$/.test(String(header)) ? Number(header) : PING_S.default
  return Math.max(PING_S.min, Math.min(seconds, PING_S.max)) * 1_000
}
