import { setTimeout as delay } from 'node:timers/promises'
import { serveTools } from '../../../src/lib/mcp/serve-tools.ts'
import { defineTool } from '../../../src/lib/mcp/tool.ts'

// Serves a tool that answers later than its input may end. Argument: the delay in milliseconds.
const delayMs = Number(process.argv[2])
const wait = defineTool(
  { name: 'wait', description: 'waits', parameters: {}, required: [], isReadOnly: true },
  () => 'waited',
)
await serveTools({
  name: 'waiting',
  title: 'Waiting',
  instructions: '',
  tools: [wait],
  maxTokens: 1_000,
  async answer(found, { signal }) {
    await delay(delayMs, undefined, { signal })
    return { found }
  },
})
