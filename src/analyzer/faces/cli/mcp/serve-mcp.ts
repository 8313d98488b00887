import { fileURLToPath } from 'node:url'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'
import { messageOf } from '../../../../lib/errors/message.ts'
import { packageVersion } from '../../../../lib/process/package.ts'
import { run } from '../../../../lib/process/run.ts'
import { siblingModule } from '../../../../lib/process/sibling.ts'
import { fault } from '../../../errors.ts'
import { sendRequest, findServer, type LiveServer, SOURCE_ANSWER_MS } from '../server-client.ts'
import { startServer, type StartOptions } from '../start-server.ts'
import { fitAnswer, mainList, type Window } from './fit-answer.ts'
import { type AgentTool, agentTools } from './tools.ts'

/** Maximum interval of keep-alive requests; a third of the idle timeout if that is less. */
const KEEP_ALIVE_MS = 60_000

const INSTRUCTIONS = `Facts about the compiled classes of one JVM project, from its bytecode: callers, subtypes, annotations, references, dependencies and source. \
The project must have been built; call refresh after a build. Names are binary names with dots, nested classes with $. Start with explore for a class. Answers are truncated at maxTokens; a truncated list gives the offset to continue from.`

/** Serves a coding agent over standard input and output until the input ends. */
export async function serveMcp(
  root: string,
  options: StartOptions,
  { idleTimeoutMs, maxTokens }: { readonly idleTimeoutMs: number; readonly maxTokens: number },
): Promise<void> {
  const project = new ProjectServer(root, options, maxTokens)
  const server = new Server(
    { name: 'analyzer', title: 'Analyzer', version: packageVersion() },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [...agentTools.values()].map(({ tool }) => tool),
  }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    const tool = agentTools.get(params.name)
    if (tool === undefined)
      throw new McpError(ErrorCode.InvalidParams, `unknown tool "${params.name.slice(0, 80)}"`)
    return answer(project, tool, params.arguments ?? {}, signal)
  })
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve)
    process.once('SIGTERM', resolve).once('SIGINT', resolve)
    // The client disconnected.
    process.stdout.once('error', () => resolve())
  })
  await server.connect(new StdioServerTransport())
  // The first request reports any error.
  project.find().catch(() => undefined)
  const keepAliveMs = idleTimeoutMs === 0 ? KEEP_ALIVE_MS : Math.min(KEEP_ALIVE_MS, idleTimeoutMs / 3)
  const timer = setInterval(() => void project.keepActive(), keepAliveMs)
  await ended
  clearInterval(timer)
  await server.close()
  process.stdin.destroy()
}

async function answer(
  project: ProjectServer,
  { request }: AgentTool,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<CallToolResult> {
  try {
    const wanted = request(given)
    const offset = Number(given['offset'] ?? 0)
    const maxTokens = Math.max(LEAST_TOKENS, Number(given['maxTokens'] ?? project.maxTokens))
    const { found, window } = await findRows(project, wanted, offset, signal)
    return { content: [{ type: 'text', text: fitAnswer(found, maxTokens, window) }] }
  } catch (error) {
    return { content: [{ type: 'text', text: messageOf(error) }], isError: true }
  }
}

type JsonObject = Record<string, unknown>

const LEAST_TOKENS = 100
/** Rows to request when the agent gives no limit: more than most budgets hold. */
const ROWS = 200

/** Returns the answer with its longest list starting at `offset`. */
async function findRows(
  project: ProjectServer,
  wanted: ReturnType<AgentTool['request']>,
  offset: number,
  signal: AbortSignal,
): Promise<{ readonly found: JsonObject | string; readonly window?: Window }> {
  if (wanted.is === 'diff') return from(await runDiff(project.root, wanted.argv, signal), offset)
  if (wanted.is === 'explore') return { found: await explore(project, wanted.name) }
  const { query, path, body } = wanted
  const isOwnPage = query.has('page') || query.has('size')
  if (wanted.isPaged && !isOwnPage) {
    query.set('page', String(Math.floor(offset / ROWS)))
    query.set('size', String(ROWS))
  }
  const found = await project.ask(`${path}${query.size === 0 ? '' : `?${query.toString()}`}`, {
    method: wanted.is === 'get' ? 'GET' : 'POST',
    body,
  })
  if (!wanted.isPaged || typeof found === 'string') return from(found, offset)
  const { page, pageSize, totalPages: _totalPages, totalCount, ...rest } = found
  const start = Number(page) * Number(pageSize)
  const own = from(rest, isOwnPage ? 0 : offset - start)
  const window = { offset: isOwnPage ? start : offset, total: Number(totalCount) }
  return { found: { totalCount, ...(own.found as JsonObject) }, window }
}

/** Drops the first rows of the longest list. */
function from(found: JsonObject | string, offset: number) {
  if (typeof found === 'string') return { found }
  const main = mainList(found as Parameters<typeof mainList>[0])
  if (main === undefined) return { found }
  const rows = found[main] as readonly unknown[]
  return { found: { ...found, [main]: rows.slice(offset) }, window: { offset, total: rows.length } }
}

/**
 * Describes a class from all sides. A part that fails, such as the source of a class without text, has the
 * error message instead.
 */
async function explore(project: ProjectServer, name: string): Promise<JsonObject> {
  const about = (await project.ask(`/api/v1/classes/${name}`)) as JsonObject
  const part = async (path: string, key: string): Promise<unknown> => {
    try {
      const found = await project.ask(`/api/v1/${path}`)
      return typeof found === 'string' ? found : found[key]
    } catch (error) {
      return messageOf(error)
    }
  }
  const [directSubtypes, usedBy, calls, source] = await Promise.all([
    part(`implementations/${name}`, 'directImplementations'),
    part(`xref/${name}?size=${ROWS}`, 'references'),
    part(`calls/${name}?includeLambdas=true`, 'methods'),
    part(`source/${name}`, 'source'),
  ])
  return { ...about, directSubtypes, usedBy, calls, source: declarationIn(source) }
}

/** Returns a class's source from its declaration on, without license and imports. */
function declarationIn(source: unknown): unknown {
  const content = (source as { readonly content?: unknown } | null)?.content
  if (typeof content !== 'string') return source
  const lines = content.split('\n')
  const first = lines.findIndex((line) => /^[^*/]*\b(?:class|interface|enum|record)\s/u.test(line))
  return lines.slice(Math.max(0, first)).join('\n')
}

/** Compares two builds in a separate process: the agent chooses the files, and native code reads them. */
async function runDiff(root: string, argv: readonly string[], signal: AbortSignal): Promise<JsonObject> {
  const program = fileURLToPath(siblingModule(import.meta.url, '../../../../bin/analyzer'))
  const args = [program, 'diff', '--json', ...argv]
  const { status, stdout, stderr } = await run(process.execPath, args, { cwd: root, signal })
  if (status === 0) return JSON.parse(stdout) as JsonObject
  throw fault('BAD_REQUEST', stderr.trim().replace(/^analyzer: /, '') || `diff exited with status ${status}`)
}

/** The project's server, started on demand. */
class ProjectServer {
  readonly root: string
  /** Answer budget if the agent gives none. */
  readonly maxTokens: number
  readonly #options: StartOptions
  #starting: Promise<LiveServer> | undefined

  constructor(root: string, options: StartOptions, maxTokens: number) {
    this.root = root
    this.maxTokens = maxTokens
    this.#options = options
  }

  async find(): Promise<LiveServer> {
    const live = await findServer(this.root)
    if (live?.info.status === 'READY' || live?.info.status === 'REFRESHING') return live
    this.#starting ??= startServer(this.root, this.#options).finally(() => (this.#starting = undefined))
    return this.#starting
  }

  async ask(
    path: string,
    options: { readonly method?: 'GET' | 'POST'; readonly body?: object | undefined } = {},
  ): Promise<JsonObject | string> {
    const { record } = await this.find()
    return sendRequest<JsonObject | string>(record, path, { ...options, timeoutMs: SOURCE_ANSWER_MS })
  }

  /** Does not start a server: an idle agent needs none. */
  async keepActive(): Promise<void> {
    const live = await findServer(this.root).catch(() => undefined)
    if (live === undefined) return
    await sendRequest(live.record, '/admin/activity', { method: 'POST', timeoutMs: KEEP_ALIVE_MS }).catch(
      () => undefined,
    )
  }
}
