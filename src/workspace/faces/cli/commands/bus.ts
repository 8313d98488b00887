import { text } from 'node:stream/consumers'
import { type Command, InvalidArgumentError } from 'commander'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatTable } from '../../../../lib/cli/table.ts'
import { request } from '../../../../lib/http/node-http.ts'
import { answerToWire, isRecord } from '../../../../lib/envelope/envelope.ts'
import type { WireEnvelope, WireListener, WireBusEvent } from '../../../api/bus.ts'
import { addServerOption, contextOf } from '../context.ts'
import { faultFromAnswer } from '../../../client/server-address.ts'
import { exitOnSignal } from '../exit-on-signal.ts'
import { openTunnelTo } from '../../../client/open-tunnel-to.ts'

/** The port of the agent inside a workspace. */
const AGENT_PORT = 498
const LISTENERS = '/api/plugins/listeners'

type Payload = Readonly<Record<string, unknown>>

/** Adds the commands `bus ls`, `listen`, `tail`, `respond` and `publish`. */
export function addBus(program: Command): void {
  const bus = program
    .command('bus')
    .description('exchange messages between programs in workspaces and listeners on the host')

  addServerOption(bus.command('ls'))
    .addHelpText('after', examples('workspace bus ls'))
    .description('list namespaces that have a listener, and connected workspaces')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const { listeners } = await client.get<{ listeners: WireListener[] }>(LISTENERS)
      const { workspaces } = await client.get<{ workspaces: WireEnvelope['workspace'][] }>(
        '/api/plugins/workspaces',
      )
      output.result({ listeners, workspaces }, () => overview(listeners, workspaces))
    })

  addServerOption(bus.command('listen'))
    .addHelpText('after', examples('workspace bus listen demo --respond \'{"ok": true}\''))
    .description('listen to a namespace exclusively and print its messages')
    .argument('<namespace>')
    .option('--respond <json>', 'answer every request with this payload', payload)
    .action(async (namespace: string, options: { respond?: Payload }, command: Command) => {
      const { client, output } = await contextOf(command)
      exitOnSignal()
      await client.follow(`${pathOf(namespace)}/messages`, (_event, content) => {
        const envelope = content as WireEnvelope
        output.line(envelope, () => lineOf(envelope))
        if (options.respond === undefined || envelope.type !== 'request') return
        const answer = answerToWire({ name: envelope.workspace.name }, envelope.id, options.respond)
        client.send(`${pathOf(namespace)}/respond`, answer).catch((error: Error) => {
          process.stderr.write(`workspace: ${error.message}\n`)
        })
      })
    })

  addServerOption(bus.command('tail'))
    .addHelpText('after', examples('workspace bus tail cloud-credentials --payloads'))
    .description('watch messages of one namespace or all, including lost ones; listeners are not affected')
    .argument('[namespace]')
    .option('--payloads', 'include payloads, without values whose key marks them as secret')
    .action(async (namespace: string | undefined, options: { payloads?: boolean }, command: Command) => {
      const { client, output } = await contextOf(command)
      exitOnSignal()
      const query = new URLSearchParams({
        ...(namespace !== undefined && { namespace }),
        ...(options.payloads === true && { payloads: 'true' }),
      })
      await client.follow(`/api/plugins/messages?${query.toString()}`, (_event, content) => {
        const event = content as WireBusEvent
        output.line(event, () => eventLine(event))
      })
    })

  addServerOption(bus.command('respond'))
    .addHelpText(
      'after',
      examples(
        'workspace bus respond demo my-workspace 01980c5e-7a3b-7000-8000-000000000000 \'{"ok": true}\'',
      ),
    )
    .description('answer a request')
    .argument('<namespace>')
    .argument('<workspace>', 'workspace that sent the request')
    .argument('<id>', 'ID of the request')
    .argument('<payload>', 'JSON object', payload)
    .option('--more', 'more answers follow this one')
    .action(
      async (
        namespace: string,
        workspace: string,
        id: string,
        content: Payload,
        options: { more?: boolean },
        command: Command,
      ) => {
        const { client, output } = await contextOf(command)
        const answer = answerToWire({ name: workspace }, id, content, options.more !== true)
        await client.send(`${pathOf(namespace)}/respond`, answer)
        output.result({ answered: id }, () => `answered ${id}`)
      },
    )

  addServerOption(bus.command('publish'))
    .addHelpText(
      'after',
      examples('workspace bus publish demo cloud-credentials \'{"operation": "get_credentials"}\''),
    )
    .description('publish a message as a program inside a workspace, and print the answer')
    .argument('<workspace>')
    .argument('<namespace>')
    .argument('[payload]', 'JSON object', payload)
    .option('--event', 'do not wait for an answer')
    .action(
      async (
        workspace: string,
        namespace: string,
        content: Payload | undefined,
        options: { event?: boolean },
        command: Command,
      ) => {
        const { server, output } = await contextOf(command)
        const tunnel = await openTunnelTo(
          server,
          `/api/workspaces/${encodeURIComponent(workspace)}/connect/${AGENT_PORT}`,
        )
        const type = options.event === true ? 'event' : 'request'
        const answer = await publish(tunnel, { namespace, type, payload: content ?? {} })
        output.result(answer ?? { sent: true }, () => (answer === undefined ? 'sent' : lineOf(answer)))
      },
    )
}

/** Publishes through the agent; resolves with undefined for an event, which has no answer. @throws the agent's error */
async function publish(
  tunnel: Awaited<ReturnType<typeof openTunnelTo>>,
  message: object,
): Promise<WireEnvelope | undefined> {
  const body = JSON.stringify(message)
  const headers = {
    host: `127.0.0.1:${AGENT_PORT}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const [status, content] = await new Promise<[number, string]>((resolve, reject) => {
    const options = { method: 'POST', path: '/v1/publish', headers, createConnection: () => tunnel }
    request(options, (response) => {
      text(response).then((answer) => resolve([response.statusCode ?? 500, answer]), reject)
    })
      .once('error', reject)
      .end(body)
  })
  tunnel.destroy()
  if (status >= 300) throw faultFromAnswer(status, content)
  return content === '' ? undefined : (JSON.parse(content) as WireEnvelope)
}

function overview(
  listeners: readonly WireListener[],
  workspaces: readonly WireEnvelope['workspace'][],
): string {
  const rows = [
    ...listeners.map((each) => ['namespace', each.namespace, `listener since ${each.created_at}`]),
    ...workspaces.map((each) => ['workspace', each.name, `${each.backend}, on ${each.server}`]),
  ]
  return rows.length === 0 ? 'no listeners and no connected workspaces' : formatTable(['', 'NAME', ''], rows)
}

function eventLine(event: WireBusEvent): string {
  const { timestamp, workspace, namespace, type, id, in_reply_to: to, lost } = event
  const loss = lost === undefined ? [] : [`lost: ${lost.replace('_', ' ')}`]
  return [
    timestamp,
    workspace.name,
    namespace,
    type,
    id,
    ...(to === undefined ? [] : [`to ${to}`]),
    ...loss,
    ...(event.payload === undefined ? [] : [JSON.stringify(event.payload)]),
    ...(event.payload_left_out === undefined ? [] : [`(${event.payload_left_out.replace('_', ' ')})`]),
  ].join('  ')
}

function lineOf({ timestamp, workspace, type, id, payload: content }: WireEnvelope): string {
  const from = workspace as WireEnvelope['workspace'] | undefined
  return [timestamp, from?.name ?? '', type, id, JSON.stringify(content)]
    .filter((part) => part !== '')
    .join('  ')
}

function pathOf(namespace: string): string {
  return `${LISTENERS}/${encodeURIComponent(namespace)}`
}

function payload(value: string): Payload {
  try {
    const parsed: unknown = JSON.parse(value)
    if (isRecord(parsed)) return parsed
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError('It is not a valid JSON object.')
}
