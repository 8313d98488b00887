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
import { ask, findServer, type LiveServer, SOURCE_ANSWER_MS } from '../server-client.ts'
import { startServer, type StartOptions } from '../start-server.ts'
import { type AgentTool, agentTools } from './tools.ts'

/** How often a server is told that somebody may still ask, at least; a third of its idle time where that is less. */
const KEEP_MS = 60_000

const INSTRUCTIONS = `Facts about the compiled classes of one JVM project, from its bytecode: who calls, extends, implements, annotates or needs what. \
The project must have been built; call refresh after a build. Names are binary names with dots, nested classes with $. Lists come in pages: totalPages tells how many there are.`

/** Answers a coding agent's questions over standard input and output until that ends. */
export async function serveMcp(root: string, options: StartOptions, idleTimeoutMs: number): Promise<void> {
  const project = new ProjectServer(root, options)
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
      throw new McpError(ErrorCode.InvalidParams, `there is no tool "${params.name.slice(0, 80)}"`)
    return answer(project, tool, params.arguments ?? {}, signal)
  })
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve)
    process.once('SIGTERM', resolve).once('SIGINT', resolve)
    // The client has gone.
    process.stdout.once('error', () => resolve())
  })
  await server.connect(new StdioServerTransport())
  // What went wrong is told to the first who asks.
  project.find().catch(() => undefined)
  const keepMs = idleTimeoutMs === 0 ? KEEP_MS : Math.min(KEEP_MS, idleTimeoutMs / 3)
  const keeping = setInterval(() => void project.keepActive(), keepMs)
  await ended
  clearInterval(keeping)
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
    const found =
      wanted.is === 'diff'
        ? await runDiff(project.root, wanted.argv, signal)
        : await project.ask(
            `${wanted.path}${wanted.query.size === 0 ? '' : `?${wanted.query.toString()}`}`,
            wanted.is === 'get' ? 'GET' : 'POST',
          )
    if (typeof found === 'string') return { content: [{ type: 'text', text: found }] }
    return { content: [{ type: 'text', text: JSON.stringify(found) }], structuredContent: found }
  } catch (error) {
    return { content: [{ type: 'text', text: messageOf(error) }], isError: true }
  }
}

type JsonObject = Record<string, unknown>

/** In a process apart: the files are whatever the agent names, and their reader is native code. */
async function runDiff(root: string, argv: readonly string[], signal: AbortSignal): Promise<JsonObject> {
  const program = fileURLToPath(siblingModule(import.meta.url, '../../../../bin/analyzer'))
  const words = [program, 'diff', '--json', ...argv]
  const { status, stdout, stderr } = await run(process.execPath, words, { cwd: root, signal })
  if (status === 0) return JSON.parse(stdout) as JsonObject
  throw fault('BAD_REQUEST', stderr.trim().replace(/^analyzer: /, '') || `diff ended with status ${status}`)
}

/** The project's server, started where none runs. */
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

  async ask(path: string, method: 'GET' | 'POST'): Promise<JsonObject | string> {
    const { record } = await this.find()
    return ask<JsonObject | string>(record, path, { method, timeoutMs: SOURCE_ANSWER_MS })
  }

  /** Does not start one: an agent that asks nothing needs none. */
  async keepActive(): Promise<void> {
    const live = await findServer(this.root).catch(() => undefined)
    if (live === undefined) return
    await ask(live.record, '/admin/activity', { method: 'POST', timeoutMs: KEEP_MS }).catch(() => undefined)
  }
}
