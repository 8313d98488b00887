import { StringDecoder } from 'node:string_decoder'
import type { OutputName } from './run-program.ts'

/** Decodes a program's outputs into texts; the bytes of a character may arrive in pieces. */
export class OutputDecoder {
  readonly #decoders: Readonly<Record<OutputName, StringDecoder>>

  constructor(encoding: BufferEncoding) {
    this.#decoders = { stdout: new StringDecoder(encoding), stderr: new StringDecoder(encoding) }
  }

  /** Returns the text that is complete so far; it may be empty. */
  write(name: OutputName, chunk: Buffer): string {
    return this.#decoders[name].write(chunk)
  }

  /** Returns the rest of each output that has one. */
  end(): readonly (readonly [OutputName, string])[] {
    return (['stdout', 'stderr'] as const)
      .map((name) => [name, this.#decoders[name].end()] as const)
      .filter(([, text]) => text !== '')
  }
}
