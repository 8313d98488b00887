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

/** Serves tools to an agent over standard input and output until the input ends (Model Context Protocol). */
export async function serveTools<Request>(served: ToolServer<Request>): Promise<void> {
  const { name, title, instructions, tools } = served
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
    return answer(served, tool, params.arguments ?? {}, signal)
  })
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve).once('close', resolve)
    process.once('SIGTERM', resolve).once('SIGINT', resolve)
    // The client disconnected.
    process.stdout.once('error', () => resolve())
  })
  await server.connect(new StdioServerTransport())
  await ended
  await server.close()
  process.stdin.destroy()
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
