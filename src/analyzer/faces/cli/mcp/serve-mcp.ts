import { fileURLToPath } from 'node:url'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { messageOf } from '../../../../lib/errors/message.ts'
import { rowsFrom, type ToolAnswer } from '../../../../lib/mcp/fit-answer.ts'
import { serveTools } from '../../../../lib/mcp/serve-tools.ts'
import { run } from '../../../../lib/process/run.ts'
import { siblingModule } from '../../../../lib/process/sibling.ts'
import { fault } from '../../../errors.ts'
import { sendRequest, findServer, type LiveServer, SOURCE_ANSWER_MS } from '../server-client.ts'
import { startServer, type StartOptions } from '../start-server.ts'
import { agentTools, type ToolRequest } from './tools.ts'

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
  const project = new ProjectServer(root, options)
  project.find().catch(ignore('the first request reports it'))
  const keepAliveMs = idleTimeoutMs === 0 ? KEEP_ALIVE_MS : Math.min(KEEP_ALIVE_MS, idleTimeoutMs / 3)
  const timer = setInterval(() => void project.keepActive(), keepAliveMs)
  await serveTools({
    name: 'analyzer',
    title: 'Analyzer',
    instructions: INSTRUCTIONS,
    tools: agentTools,
    maxTokens,
    async answer(request, { offset, signal }) {
      const { found, ...rest } = await findRows(project, request, offset, signal)
      return { found: withoutDerived(found), ...rest }
    },
  })
  clearInterval(timer)
}

type JsonObject = Record<string, unknown>

/** Rows to request when the agent gives no limit: more than most budgets hold. */
const ROWS = 200

/** Returns the answer with its longest list starting at `offset`. */
async function findRows(
  project: ProjectServer,
  wanted: ToolRequest,
  offset: number,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  if (wanted.is === 'command') {
    // The first query of an agent may be one whose command expects a running server.
    if (wanted.argv[0] !== 'diff') await project.find()
    return rowsFrom(await runCommand(project.root, wanted.argv, signal), offset)
  }
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
  if (!wanted.isPaged || typeof found === 'string') return rowsFrom(found, offset)
  const { page, pageSize, totalPages: _totalPages, totalCount, ...rest } = found
  const start = Number(page) * Number(pageSize)
  const own = rowsFrom(rest, isOwnPage ? 0 : offset - start)
  const window = { offset: isOwnPage ? start : offset, total: Number(totalCount) }
  return { found: { totalCount, ...(own.found as JsonObject) }, window }
}

/** Columns derived from a full name that another column has. */
const DERIVED: ReadonlySet<string> = new Set([
  'simpleName',
  'packageName',
  'fromSimpleName',
  'classSimpleName',
])

/** Drops derived columns of all rows in an answer. */
function withoutDerived<T>(value: T): T {
  if (Array.isArray(value)) return value.map((row: unknown) => withoutDerived(withoutColumns(row))) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutDerived(each)])) as T
}

function withoutColumns(row: unknown): unknown {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return row
  return Object.fromEntries(Object.entries(row).filter(([key]) => !DERIVED.has(key)))
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

/** Runs a command in a separate process: the agent chooses the files that it reads. */
async function runCommand(root: string, argv: readonly string[], signal: AbortSignal): Promise<JsonObject> {
  const program = fileURLToPath(siblingModule(import.meta.url, '../../../../bin/analyzer'))
  const [name = '', ...rest] = argv
  const args = [program, name, '--json', ...rest]
  const { status, stdout, stderr } = await run(process.execPath, args, { cwd: root, signal })
  // Status 1 with a result means that something was found.
  if (status === 0 || (status === 1 && stdout !== '')) return JSON.parse(stdout) as JsonObject
  throw fault(
    'BAD_REQUEST',
    stderr.trim().replaceAll(/^analyzer: /gm, '') || `${name} exited with status ${status}`,
  )
}

/** The project's server, started on demand. */
class ProjectServer {
  readonly root: string
  readonly #options: StartOptions
  #starting: Promise<LiveServer> | undefined

  constructor(root: string, options: StartOptions) {
    this.root = root
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
    const live = await findServer(this.root).catch(ignore('without a server there is nothing to keep active'))
    if (live === undefined) return
    await sendRequest(live.record, '/admin/activity', { method: 'POST', timeoutMs: KEEP_ALIVE_MS }).catch(
      ignore('the server may be stopping'),
    )
  }
}
