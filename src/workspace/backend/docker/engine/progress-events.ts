import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** The used fields of what engines report during a pull or build. Source: Docker Engine API, ImageCreate and ImageBuild. */
export interface ProgressEvent {
  /** Layer of a pull. */
  readonly id?: string
  /** State of that layer. */
  readonly status?: string
  /** Output of a build. */
  readonly stream?: string
  readonly error?: string
  /** The image of a build. */
  readonly aux?: { readonly ID?: string }
}

/** Yields the events of a pull or build, one per line. @throws Error with the engine's message when that fails */
export async function* progressEvents(stream: NodeJS.ReadableStream): AsyncGenerator<ProgressEvent> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of stream as Readable) {
    const lines = (rest + decoder.write(chunk as Buffer)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line.trim() === '') continue
      const event = JSON.parse(line) as ProgressEvent
      if (event.error !== undefined) throw new Error(event.error)
      yield event
    }
  }
}
