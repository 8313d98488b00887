import type { Command } from 'commander'
import { projectOf } from '../context.ts'
import { addStartOptions, optionsOf, type StartFlags } from './server.ts'

/** mcp. */
export function addMcp(program: Command): void {
  addStartOptions(program.command('mcp'))
    .description('answer a coding agent over standard input and output (Model Context Protocol)')
    .addHelpText(
      'after',
      '\nExample, as an agent is told of it:\n  {"command": "analyzer", "args": ["mcp", "-p", "/src/shop"]}',
    )
    .action(async (flags: StartFlags, command: Command) => {
      const root = projectOf(command)
      // Only this command pays for the protocol's modules.
      const [{ serveMcp }, { loadAnalyzerConfig }] = await Promise.all([
        import('../mcp/serve-mcp.ts'),
        import('../../../config.ts'),
      ])
      await serveMcp(root, optionsOf(flags), loadAnalyzerConfig(process.env).server.idleTimeoutMs)
    })
}
