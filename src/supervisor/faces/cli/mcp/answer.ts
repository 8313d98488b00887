import {
  CHARACTERS_PER_TOKEN,
  rowsFrom,
  type ToolAnswer,
  type Wanted,
} from '../../../../lib/mcp/fit-answer.ts'
import type { WireLogs } from '../../../api/log.ts'
import type { WireSummary } from '../../../api/process.ts'
import type { WireWhy } from '../../../api/why.ts'
import type { SupervisorClient } from '../client.ts'
import { shownLine } from '../paint.ts'
import type { ToolRequest } from './tools.ts'

/** Maximum number of lines that the API returns. */
const API_LINES = 10_000
const MOST_REQUESTS = 1_000
const MAX_LINE_LENGTH = 2_000
/** Characters kept for the notes about omitted lines. */
const NOTES_LENGTH = 200

type JsonObject = Readonly<Record<string, unknown>>

/** Answers a request of an agent through the supervisor's API. */
export async function answerRequest(
  client: SupervisorClient,
  request: ToolRequest,
  { offset, maxTokens }: Wanted,
): Promise<ToolAnswer> {
  if (request.is === 'status') {
    const { status, config_file, uptime_seconds } = await client.get<JsonObject>('/status')
    const processes = await summaries(client, request.query)
    return rowsFrom({ status, config_file, uptime_seconds, processes }, offset)
  }
  if (request.is === 'why') {
    const { output, ...why } = await client.get<WireWhy>(`${pathOf(request.name)}/why`)
    // A truncated list loses its last rows.
    return { found: { ...why, output_newest_first: output.toReversed() } }
  }
  if (request.is === 'logs') return { found: await logText(client, request, { offset, maxTokens }) }
  if (request.is === 'requests') {
    const { query } = request
    query.set('limit', String(MOST_REQUESTS))
    return rowsFrom(await client.get<JsonObject>(`/proxy/requests?${query.toString()}`), offset)
  }
  const { is, of, name } = request
  await client.post(`/${of}/${encodeURIComponent(name)}/${is}`)
  if (of === 'processes') return { found: await client.get<JsonObject>(pathOf(name)) }
  return rowsFrom({ processes: await summaries(client, new URLSearchParams({ group: name })) }, offset)
}

/** Lists processes without what `why` explains in full. */
async function summaries(client: SupervisorClient, query: URLSearchParams): Promise<readonly object[]> {
  const { processes } = await client.get<{ processes: readonly WireSummary[] }>(
    `/processes?${query.toString()}`,
  )
  return processes.map(({ base: _base, depends_on: _dependsOn, ...summary }) => summary)
}

function pathOf(name: string): string {
  return `/processes/${encodeURIComponent(name)}`
}

/** Formats the newest lines that fit, oldest first: the end of a log is what explains a failure. */
async function logText(
  client: SupervisorClient,
  { process, query, lines: wanted }: ToolRequest & { readonly is: 'logs' },
  { offset, maxTokens }: Pick<Wanted, 'offset' | 'maxTokens'>,
): Promise<string> {
  // A mistyped name is an error, not empty output.
  for (const name of process?.split(',') ?? []) await client.get(pathOf(name.trim()))
  query.set('strip_ansi', 'true')
  query.set('lines', String(Math.min(API_LINES, offset + wanted)))
  const { logs, filtered_count: count } = await client.get<WireLogs>(`/logs?${query.toString()}`)
  const lines = logs
    .slice(0, Math.max(0, logs.length - offset))
    .map(
      ({ timestamp, process: name, stream, line }) =>
        `${timestamp.slice(11, 23)} ${name}${stream === 'stderr' ? ' stderr' : ''}: ${shownLine(line).slice(0, MAX_LINE_LENGTH)}`,
    )
  let left = maxTokens * CHARACTERS_PER_TOKEN - NOTES_LENGTH
  const tooFar = lines.findLastIndex((line) => (left -= line.length + 1) < 0)
  // At least the newest line, cut if it alone exceeds the budget.
  const shown = lines.slice(Math.min(tooFar + 1, Math.max(0, lines.length - 1)))
  const earlier = count - offset - shown.length
  return [
    count === 1 ? '1 line matches' : `${count} lines match`,
    ...(earlier > 0 ? [`… ${earlier} earlier lines; continue with offset=${offset + shown.length}`] : []),
    ...shown,
  ].join('\n')
}
