/** A server-sent event. */
export interface ServerEvent {
  /** `message` for an event without a name. */
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/** Yields the events of a stream of text. One that was cut off is discarded. */
export async function* readEvents(chunks: AsyncIterable<string>): AsyncGenerator<ServerEvent, void, void> {
  // Only commands that follow a stream load it.
  const { createParser } = await import('eventsource-parser')
  const events: ServerEvent[] = []
  const parser = createParser({
    onEvent: ({ event = 'message', data, id }) => events.push({ event, data, id }),
  })
  for await (const chunk of chunks) {
    parser.feed(chunk)
    yield* events.splice(0)
  }
}
