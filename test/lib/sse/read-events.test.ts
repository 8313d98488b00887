import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readEvents, type ServerEvent } from '../../../src/lib/sse/read-events.ts'

const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
const line = fc.oneof(
  fc.constantFrom(
    '',
    ':',
    ': ping',
    'data',
    'data:',
    'data: a',
    'data:  b',
    'event: exit',
    'event:',
    'id: 7',
    'retry: 1',
  ),
  fc.string({ unit: fc.constantFrom('d', 'a', 't', ':', ' ', '\u2028', '\u0085', '\v', '\uFEFF', '🚀') }),
)
const stream = fc.array(fc.oneof(line, lineEnd), { maxLength: 40 }).map((parts) => `${parts.join('')}\n`)

async function eventsOf(text: string, sizes: readonly number[]): Promise<readonly ServerEvent[]> {
  async function* chunks() {
    let at = 0
    for (let i = 0; at < text.length; i++) {
      const size = sizes[i % sizes.length] ?? 1
      yield text.slice(at, (at += size))
    }
  }
  const events: ServerEvent[] = []
  for await (const event of readEvents(chunks())) events.push(event)
  return events
}

/** Returns the events that an independent parser finds. */
function expectedFrom(text: string): readonly ServerEvent[] {
  const events: ServerEvent[] = []
  const parser = createParser({
    onEvent: ({ event, data, id }) => events.push({ event: event ?? 'message', data, id }),
  })
  parser.feed(text)
  return events
}

test('events are those of an independent parser, in chunks of any size', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 })
  const property = fc.asyncProperty(stream, sizes, async (text, cuts) => {
    expect(await eventsOf(text, cuts)).toEqual(expectedFrom(text))
  })
  await fc.assert(property, { numRuns: 2_000 })
})

test('an event that was cut off is discarded', async () => {
  expect(await eventsOf('data: 1\n\ndata: 2\n', [3])).toMatchObject([{ data: '1' }])
})
