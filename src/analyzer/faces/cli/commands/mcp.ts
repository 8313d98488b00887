import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { projectOf } from '../context.ts'
import { addStartOptions, optionsOf, type StartFlags } from './server.ts'

interface McpFlags extends StartFlags {
  readonly maxTokens: number
}

/** Adds the command mcp. */
export function addMcp(program: Command): void {
  addStartOptions(program.command('mcp'))
    .description('serve a coding agent over standard input and output (Model Context Protocol)')
    .addHelpText(
      'after',
      examples('analyzer mcp -p /src/shop') +
        '\n\nAn agent’s configuration:\n  {"command": "analyzer", "args": ["mcp", "-p", "/src/shop"]}',
    )
    .option('--max-tokens <n>', 'maximum length of an answer if the agent sets none', wholeNumber, 4_000)
    .action(async ({ maxTokens, ...flags }: McpFlags, command: Command) => {
      const root = projectOf(command)
      // Only this command pays for the protocol's modules.
      const [{ serveMcp }, { loadAnalyzerConfig }] = await Promise.all([
        import('../mcp/serve-mcp.ts'),
        import('../../../config.ts'),
      ])
      const { idleTimeoutMs } = loadAnalyzerConfig(process.env).server
      await serveMcp(root, optionsOf(flags), { idleTimeoutMs, maxTokens })
    })
}
