import { connect } from '@nats-io/transport-node'
import { answerToWire } from '../src/lib/envelope/envelope.ts'
import type { WireEnvelope } from '../src/workspace/api/bus.ts'
import { WorkspaceClient } from '../src/workspace/client/client.ts'
import { serveNamespace } from '../src/workspace/client/serve-namespace.ts'

// node bus-listener.ts post|lines|nats URL: answers every request of the namespace or subject of that name with its
// payload and the number of events received so far; prints a line when it is listening.

const [transport = '', url = ''] = process.argv.slice(2)
let events = 0
const ready = (): void => console.log('ready')

if (transport === 'nats') await listenToNats()
else if (transport === 'post') await listenByPosts()
else {
  const answer = ({ type, payload }: { readonly type: string; readonly payload: object }): unknown =>
    type === 'event' ? events++ : { ...payload, events }
  await serveNamespace(transport, answer, { server: { url }, onListening: ready, onProblem: console.error })
}

/** Answers each request with a separate POST, like programs that do not support lines. */
async function listenByPosts(): Promise<void> {
  const client = new WorkspaceClient({ name: 'bench', url })
  const path = `/api/plugins/listeners/${transport}`
  await client.follow(
    `${path}/messages`,
    (_event, content) => {
      const { id, type, payload, workspace } = content as WireEnvelope
      if (type === 'event') events++
      else void client.send(`${path}/respond`, answerToWire(workspace, id, { ...payload, events }))
    },
    { onOpen: ready },
  )
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
