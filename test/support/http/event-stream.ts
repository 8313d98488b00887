import { createParser } from 'eventsource-parser'
import { onTestFinished } from 'vitest'
import { waitFor } from '../wait-for.ts'

/** Event of a stream, its data decoded from JSON. */
export interface ReceivedEvent {
  readonly event: string | undefined
  readonly id: string | undefined
  readonly data: any
}

/** Reads an event stream until the test ends. */
export async function readEventStream(url: string, headers: Readonly<Record<string, string>> = {}) {
  const controller = new AbortController()
  onTestFinished(() => controller.abort())
  const response = await fetch(url, { signal: controller.signal, headers })
  const events: ReceivedEvent[] = []
  const parser = createParser({
    onEvent: ({ event, id, data }) => events.push({ event, id, data: JSON.parse(data) }),
  })
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }))
  }
  const ended = read().catch(() => undefined)
  return {
    response,
    /** Events received so far. */
    events: events as readonly ReceivedEvent[],
    /** Waits until this many events have arrived. */
    async first(count: number): Promise<readonly ReceivedEvent[]> {
      await waitFor(`${count} events`, () => events.length >= count)
      return events.slice(0, count)
    },
    ended,
  }
}
