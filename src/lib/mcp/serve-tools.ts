import { setImmediate, setTimeout as delay } from 'node:timers/promises'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js'
import { messageOf } from '../errors/message.ts'
import { packageVersion } from '../process/package.ts'
import { fitAnswer, type ToolAnswer, type Wanted } from './fit-answer.ts'
import { type AgentTool, LEAST_TOKENS } from './tool.ts'

/** Tools served to an agent. */
export interface ToolServer<Request> {
  readonly name: string
  readonly title: string
  readonly instructions: string
  readonly tools: readonly AgentTool<Request>[]
  /** Maximum length of an answer if the agent sets none. */
  readonly maxTokens: number
  readonly answer: (request: Request, wanted: Wanted) => Promise<ToolAnswer>
}

/** Calls may still be answered for this time after the input has ended. */
const LAST_ANSWERS_MS = 60_000

/**
 * Serves tools to an agent over standard input and output (Model Context Protocol) until the input has ended and its calls are
 * answered, or a signal arrives.
 */
export async function serveTools<Request>(served: ToolServer<Request>): Promise<void> {
  const { name, title, instructions, tools } = served
  const underWay = new Set<Promise<CallToolResult>>()
  const byName = new Map(tools.map((each) => [each.tool.name, each]))
  const server = new Server(
    { name, title, version: packageVersion() },
    { capabilities: { tools: {} }, instructions },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(({ tool }) => tool) }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    const tool = byName.get(params.name)
    if (tool === undefined)
      throw new McpError(ErrorCode.InvalidParams, `unknown tool "${params.name.slice(0, 80)}"`)
    const answered = answer(served, tool, params.arguments ?? {}, signal)
    underWay.add(answered)
    void answered.finally(() => underWay.delete(answered))
    return answered
  })
  const inputEnded = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve)
  })
  const stopped = new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve).once('SIGINT', resolve)
    // The client disconnected.
    process.stdout.once('error', () => resolve())
  })
  await server.connect(new StdioServerTransport())
  await Promise.race([stopped, inputEnded.then(() => lastAnswers(underWay))])
  await server.close()
  process.stdin.destroy()
}

/** Resolves when no call is under way any more, or too long after the input. */
async function lastAnswers(underWay: ReadonlySet<Promise<CallToolResult>>): Promise<void> {
  // Calls are begun, and answers sent, after the turn that reads them.
  await setImmediate()
  await Promise.race([Promise.allSettled(underWay), delay(LAST_ANSWERS_MS, undefined, { ref: false })])
  await setImmediate()
}

async function answer<Request>(
  served: ToolServer<Request>,
  { request }: AgentTool<Request>,
  given: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<CallToolResult> {
  try {
    const wanted = request(given)
    const offset = Number(given['offset'] ?? 0)
    const maxTokens = Math.max(LEAST_TOKENS, Number(given['maxTokens'] ?? served.maxTokens))
    const { found, window } = await served.answer(wanted, { offset, maxTokens, signal })
    return { content: [{ type: 'text', text: fitAnswer(found, maxTokens, window) }] }
  } catch (error) {
    return { content: [{ type: 'text', text: messageOf(error) }], isError: true }
  }
}
