import type { IncomingMessage } from 'node:http'
import { defineFaults } from '../../../../lib/errors/fault.ts'
import {
  CHARACTERS_PER_TOKEN,
  rowsFrom,
  type ToolAnswer,
  type Wanted,
} from '../../../../lib/mcp/fit-answer.ts'
import type { WireCodeResult } from '../../../api/code.ts'
import type { WireExecResult, WireOutput } from '../../../api/program.ts'
import type { WireTimeline } from '../../../api/timeline.ts'
import type { WorkspaceClient } from '../../../client/client.ts'
import type { ToolRequest, WorkspaceRequest } from './tool-request.ts'

const MOST_FILE_BYTES = 8 * 2 ** 20
/** Characters kept for the notes about omitted output. */
const NOTES_LENGTH = 200

const toolFault = defineFaults({ FILE_UNSUITABLE: 'invalid' })

type JsonObject = Readonly<Record<string, unknown>>

/** Answers a request of an agent through the server's API. */
export async function answerRequest(
  client: WorkspaceClient,
  request: ToolRequest,
  wanted: Wanted,
): Promise<ToolAnswer> {
  if (request.is === 'workspaces')
    return rowsFrom(await client.get<JsonObject>('/api/workspaces'), wanted.offset)
  if (request.is === 'create')
    return { found: await client.post<JsonObject>('/api/workspaces', request.body) }
  return answerInside(client, request, wanted)
}

function pathOf({ workspace }: WorkspaceRequest): string {
  return `/api/workspaces/${encodeURIComponent(workspace)}`
}

function charactersOf({ maxTokens }: Wanted): number {
  return maxTokens * CHARACTERS_PER_TOKEN - NOTES_LENGTH
}

async function answerInside(
  client: WorkspaceClient,
  request: WorkspaceRequest,
  wanted: Wanted,
): Promise<ToolAnswer> {
  if ('path' in request) return answerOnFile(client, request, wanted)
  if ('id' in request) return { found: await answerOnProcess(client, request, wanted) }
  const at = pathOf(request)
  switch (request.is) {
    case 'workspace': {
      const { entries } = await client.get<WireTimeline>(`${at}/timeline`)
      const history = entries.toReversed().map(({ at: time, text }) => ({ time, text }))
      return rowsFrom({ ...(await client.get<JsonObject>(at)), history_newest_first: history }, wanted.offset)
    }
    case 'log': {
      const url = `${at}/logs?lines=${request.lines}`
      const { lines } = await client.get<{ readonly lines: readonly string[] }>(url)
      return { found: endOf(lines.join('\n'), charactersOf(wanted), 0).text || 'the log is empty' }
    }
    case 'wait_for_port': {
      const url = `${at}/ports/${request.port}/wait?timeout_ms=${request.timeoutMs}`
      return { found: await client.get<JsonObject>(url, wanted.signal) }
    }
    case 'run': {
      const body = { ...request.body, max_output_bytes: wanted.maxTokens * CHARACTERS_PER_TOKEN }
      const result = await client.post<WireExecResult>(`${at}/exec`, body, wanted.signal)
      return { found: runText(result, charactersOf(wanted)) }
    }
    case 'run_code': {
      const body = { ...request.body, max_output_bytes: wanted.maxTokens * CHARACTERS_PER_TOKEN }
      const result = await client.post<WireCodeResult>(`${at}/code`, body, wanted.signal)
      return { found: codeText(result, charactersOf(wanted)) }
    }
    case 'start_process':
      return { found: await client.post<JsonObject>(`${at}/processes`, request.body) }
    case 'start':
    case 'stop':
    case 'suspend':
      return { found: await client.post<JsonObject>(`${at}/${request.is}`) }
    case 'delete':
      await client.delete(at)
      return { found: `workspace ${request.workspace} is deleted` }
    case 'set':
      return { found: await client.patch<JsonObject>(at, request.body) }
    case 'snapshot': {
      const body = { name: request.snapshot, source_workspace: request.workspace }
      return { found: await client.post<JsonObject>('/api/snapshots', body) }
    }
    case 'checkpoint':
      return { found: await client.post<JsonObject>(`${at}/checkpoints`, request.body) }
    case 'rewind': {
      const { to, before } = await client.post<JsonObject>(`${at}/rewind`, { to: request.to })
      return { found: { to, undone_by: before } }
    }
    case 'fork':
      return { found: await client.post<JsonObject>(`${at}/fork`, request.body) }
    case 'ports':
    case 'processes':
    case 'checkpoints':
    default:
      return rowsFrom(await client.get<JsonObject>(`${at}/${request.is}`), wanted.offset)
  }
}

async function answerOnProcess(
  client: WorkspaceClient,
  request: Extract<WorkspaceRequest, { readonly id: string }>,
  wanted: Wanted,
): Promise<string> {
  const at = `${pathOf(request)}/processes/${encodeURIComponent(request.id)}`
  if (request.is === 'process_output') {
    const answer = await client.get<WireOutput>(`${at}/output?after=${request.after}`)
    return outputText(answer, charactersOf(wanted))
  }
  if (request.is === 'process_input') {
    await client.send(`${at}/input`, request.body)
    return 'written'
  }
  await client.send(`${at}/signal`, { signal: request.signal })
  return `${request.signal} sent`
}

async function answerOnFile(
  client: WorkspaceClient,
  request: Extract<WorkspaceRequest, { readonly path: string }>,
  wanted: Wanted,
): Promise<ToolAnswer> {
  const { path } = request
  const url = (more: Readonly<Record<string, string>> = {}, route = ''): string =>
    `${pathOf(request)}/files${route}?${new URLSearchParams({ path, ...more }).toString()}`
  switch (request.is) {
    case 'list_files':
      return rowsFrom(await client.get<JsonObject>(url({}, '/list')), wanted.offset)
    case 'read_file': {
      const content = await readText(client, url(), path)
      return { found: pageOf(content, wanted.offset, charactersOf(wanted)) }
    }
    case 'write_file': {
      const mode: Readonly<Record<string, string>> = request.mode === undefined ? {} : { mode: request.mode }
      const content = Buffer.from(request.content)
      await client.upload(url({ create_parents: 'true', ...mode }), content)
      return { found: `${content.length} bytes written to ${path}` }
    }
    case 'edit_file':
      await client.upload(url(), Buffer.from(replacedOnce(await readText(client, url(), path), request)))
      return { found: `${path} is changed` }
    case 'remove_file':
    default:
      await client.delete(url({ recursive: String(request.isRecursive) }))
      return { found: `${path} is removed` }
  }
}

/** Returns a text whose only occurrence of `from` is replaced. @throws FILE_UNSUITABLE for none or several */
function replacedOnce(
  before: string,
  { path, from, to }: { readonly path: string; readonly from: string; readonly to: string },
): string {
  const parts = before.split(from)
  if (parts.length === 2) return parts.join(to)
  throw toolFault(
    'FILE_UNSUITABLE',
    parts.length === 1
      ? `${path} does not contain the text; read it again`
      : `${path} contains the text ${parts.length - 1} times; include more context`,
  )
}

/** Reads a text file. @throws FILE_UNSUITABLE for a binary or large one */
async function readText(client: WorkspaceClient, url: string, path: string): Promise<string> {
  const response: IncomingMessage = await client.download(url)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MOST_FILE_BYTES)
      throw toolFault(
        'FILE_UNSUITABLE',
        `${path} is larger than ${MOST_FILE_BYTES} bytes; use run with head, tail or grep`,
      )
  }
  const content = Buffer.concat(chunks)
  try {
    const decoded = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
    if (!decoded.includes('\0')) return decoded
  } catch {
    // Not text either.
  }
  throw toolFault('FILE_UNSUITABLE', `${path} is not a text file in UTF-8 (${content.length} bytes)`)
}

/** Formats the lines of a text from an offset on that fit. */
function pageOf(content: string, offset: number, budget: number): string {
  if (content === '') return 'the file is empty'
  const lines = content.replace(/\n$/, '').split('\n')
  let left = budget
  const rest = lines.slice(offset)
  const tooFar = rest.findIndex((line) => (left -= line.length + 1) < 0)
  // At least one line, cut if it alone exceeds the budget.
  const shown = (tooFar === -1 ? rest : rest.slice(0, Math.max(1, tooFar))).map((line) =>
    line.slice(0, budget),
  )
  const more = rest.length - shown.length
  return [
    ...shown,
    ...(more > 0 ? [`… ${more} more lines; continue with offset=${offset + shown.length}`] : []),
  ].join('\n')
}

function runText(result: WireExecResult, budget: number): string {
  const { exit_status: status, signal, timed_out: isLate, duration_ms: ms, stdout, stderr } = result
  const head = `exit status ${status}${signal === null ? '' : ` (${signal})`}${isLate ? ', timed out' : ''}, ${ms} ms`
  const errors = endOf(stderr, Math.max(budget / 2, budget - stdout.length), result.stderr_dropped_bytes)
  const output = endOf(stdout, budget - errors.text.length, result.stdout_dropped_bytes)
  return [head, ...section('stdout', output), ...section('stderr', errors)].join('\n')
}

function codeText(result: WireCodeResult, budget: number): string {
  const { error, timed_out: isLate, duration_ms: ms } = result
  const head = `${error === null ? 'succeeded' : `failed with ${error.name}`}${isLate ? ', timed out' : ''}, ${ms} ms`
  const shown = result.results.map(({ data }) => {
    const others = Object.keys(data).filter((type) => type !== 'text/plain')
    return `${data['text/plain'] ?? ''}${others.length > 0 ? ` (also ${others.join(', ')})` : ''}`
  })
  const failure = endOf(error?.traceback || error?.value || '', budget / 4, 0)
  const values = endOf(shown.join('\n'), budget / 4, 0)
  const errors = endOf(result.stderr, budget / 4, result.stderr_dropped_bytes)
  const left = budget - failure.text.length - values.text.length - errors.text.length
  const output = endOf(result.stdout, left, result.stdout_dropped_bytes)
  return [
    head,
    ...section('stdout', output),
    ...section('stderr', errors),
    ...section('results', values),
    ...section('error', failure),
  ].join('\n')
}

function outputText({ output, next, dropped_bytes: dropped, process }: WireOutput, budget: number): string {
  const { status, exit_status: exit } = process
  const shown = endOf(output.map(({ text }) => text).join(''), budget, dropped)
  const state = `${status}${exit === null ? '' : `, exit status ${exit}`}; next=${next}`
  return [state, ...section('output', shown)].join('\n')
}

interface Shown {
  readonly text: string
  readonly omitted: string
}

function section(name: string, { text, omitted }: Shown): readonly string[] {
  return text === '' ? [] : [`${name}${omitted}:`, text.replace(/\n$/, '')]
}

/** Returns the end of a text that fits: that is where programs print their errors. */
function endOf(content: string, budget: number, droppedBytes: number): Shown {
  const text = content.slice(Math.max(0, content.length - Math.max(0, Math.floor(budget))))
  const omitted = content.length - text.length + droppedBytes
  return { text, omitted: omitted > 0 ? ` (the first ${omitted} characters are omitted)` : '' }
}
