import { connect } from '@nats-io/transport-node'
import { createParser } from 'eventsource-parser'
import { serveNamespace } from '../src/workspace/client/serve-namespace.ts'

// node bus-listener.ts post|lines|nats URL: answers every request of the namespace or subject of that name with its payload, and how many events
// it has seen; prints a line when it listens.

const [way = '', url = ''] = process.argv.slice(2)
let events = 0
const ready = (): void => console.log('ready')

if (way === 'post') {
  const answer = ({ type, payload }: { readonly type: string; readonly payload: object }): unknown =>
    type === 'event' ? events++ : { ...payload, events }
  await serveNamespace('post', answer, { server: { url }, onListening: ready, onProblem: console.error })
} else if (way === 'lines') await listenByLines()
else await listenToNats()

/** One request for all answers that have come together while the last one was on its way. */
async function listenByLines(): Promise<void> {
  const path = `${url}/api/plugins/listeners/lines`
  const response = await fetch(`${path}/messages`)
  let waiting: string[] = []
  let isSending = false
  const send = async (): Promise<void> => {
    isSending = true
    while (waiting.length > 0) {
      const body = waiting.splice(0, 40).join('\n')
      await fetch(`${path}/respond`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
        body,
      })
    }
    isSending = false
  }
  const parser = createParser({
    onEvent({ data }) {
      const { id, type, payload, workspace } = JSON.parse(data)
      if (type === 'event') events++
      else waiting.push(JSON.stringify({ workspace, in_reply_to: id, payload: { ...payload, events } }))
      if (!isSending && waiting.length > 0) void send()
    },
  })
  ready()
  const decoder = new TextDecoder()
  for await (const piece of response.body ?? []) parser.feed(decoder.decode(piece, { stream: true }))
}

async function listenToNats(): Promise<void> {
  const client = await connect({ servers: url })
  client.subscribe('events', { callback: () => void events++ })
  client.subscribe('requests', {
    callback: (_error, message) =>
      void message.respond(JSON.stringify({ ...message.json<object>(), events })),
  })
  await client.flush()
  ready()
}
