import { text } from 'node:stream/consumers'
import { type Command, InvalidArgumentError } from 'commander'
import { formatTable } from '../../../../lib/cli/table.ts'
import { request } from '../../../../lib/http/node-http.ts'
import { answerToWire, isRecord } from '../../../../lib/envelope/envelope.ts'
import type { WireEnvelope, WireListener, WireNews } from '../../../api/bus.ts'
import { addServerOption, contextOf } from '../context.ts'
import { faultFromAnswer } from '../../../client/server-address.ts'
import { openTunnelTo } from '../tunnel-client.ts'

/** Where agents take messages inside workspaces. */
const AGENT_PORT = 498
const LISTENERS = '/api/plugins/listeners'

type Payload = Readonly<Record<string, unknown>>

/** bus ls, listen, tail, respond, publish. */
export function addBus(program: Command): void {
  const bus = program.command('bus').description('messages between programs inside and listeners on the host')

  addServerOption(bus.command('ls'))
    .description('list the namespaces that are listened to, and the workspaces that are connected')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const { listeners } = await client.get<{ listeners: WireListener[] }>(LISTENERS)
      const { workspaces } = await client.get<{ workspaces: WireEnvelope['workspace'][] }>(
        '/api/plugins/workspaces',
      )
      output.result({ listeners, workspaces }, () => overview(listeners, workspaces))
    })

  addServerOption(bus.command('listen'))
    .description('listen to a namespace and print its messages; nobody else can meanwhile')
    .argument('<namespace>')
    .option('--respond <json>', 'answer every request with this payload', payload)
    .addHelpText('after', '\nExample:\n  workspace bus listen demo --respond \'{"ok": true}\'')
    .action(async (namespace: string, options: { respond?: Payload }, command: Command) => {
      const { client, output } = await contextOf(command)
      endQuietly()
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
    .description('watch what passes, of one namespace or all, and what is lost; takes nothing from listeners')
    .argument('[namespace]')
    .option('--payloads', 'also what messages carry, without what is called after a secret')
    .action(async (namespace: string | undefined, options: { payloads?: boolean }, command: Command) => {
      const { client, output } = await contextOf(command)
      endQuietly()
      const query = new URLSearchParams({
        ...(namespace !== undefined && { namespace }),
        ...(options.payloads === true && { payloads: 'true' }),
      })
      await client.follow(`/api/plugins/messages?${query.toString()}`, (_event, content) => {
        const news = content as WireNews
        output.line(news, () => newsLine(news))
      })
    })

  addServerOption(bus.command('respond'))
    .description('answer a request')
    .argument('<namespace>')
    .argument('<workspace>', 'who asked')
    .argument('<id>', "the request's id")
    .argument('<payload>', 'JSON object', payload)
    .option('--more', 'this is not the last answer')
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
        output.result({ answered: id }, () => `${id} is answered`)
      },
    )

  addServerOption(bus.command('publish'))
    .description('publish as a program inside a workspace does, and print the answer')
    .argument('<workspace>')
    .argument('<namespace>')
    .argument('[payload]', 'JSON object', payload)
    .option('--event', 'wait for no answer')
    .addHelpText(
      'after',
      '\nExample:\n  workspace bus publish demo cloud-credentials \'{"operation": "get_credentials"}\'',
    )
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

/** Undefined for an event, which is not answered. @throws what the agent says */
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
  const [status, said] = await new Promise<[number, string]>((resolve, reject) => {
    const options = { method: 'POST', path: '/v1/publish', headers, createConnection: () => tunnel }
    request(options, (response) => {
      text(response).then((content) => resolve([response.statusCode ?? 500, content]), reject)
    })
      .once('error', reject)
      .end(body)
  })
  tunnel.destroy()
  if (status >= 300) throw faultFromAnswer(status, said)
  return said === '' ? undefined : (JSON.parse(said) as WireEnvelope)
}

function overview(
  listeners: readonly WireListener[],
  workspaces: readonly WireEnvelope['workspace'][],
): string {
  const rows = [
    ...listeners.map((each) => ['namespace', each.namespace, `listened to since ${each.created_at}`]),
    ...workspaces.map((each) => ['workspace', each.name, `${each.backend}, on ${each.server}`]),
  ]
  return rows.length === 0
    ? 'nobody listens, and no workspace is connected'
    : formatTable(['', 'NAME', ''], rows)
}

/** Whoever reads what we print has read enough. */
function endQuietly(): void {
  process.stdout.on('error', () => process.exit(0))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(0))
}

function newsLine(news: WireNews): string {
  const { timestamp, workspace, namespace, type, id, in_reply_to: to, lost } = news
  const loss = lost === undefined ? [] : [`lost: ${lost.replace('_', ' ')}`]
  return [
    timestamp,
    workspace.name,
    namespace,
    type,
    id,
    ...(to === undefined ? [] : [`to ${to}`]),
    ...loss,
    ...(news.payload === undefined ? [] : [JSON.stringify(news.payload)]),
    ...(news.payload_left_out === undefined ? [] : [`(${news.payload_left_out.replace('_', ' ')})`]),
  ].join('  ')
}

function lineOf({ timestamp, workspace, type, id, payload: content }: WireEnvelope): string {
  const from = workspace as WireEnvelope['workspace'] | undefined
  return [timestamp, from?.name ?? '', type, id, JSON.stringify(content)]
    .filter((word) => word !== '')
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
    // Said below.
  }
  throw new InvalidArgumentError('It must be a JSON object.')
}
