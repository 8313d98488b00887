import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { contextOf } from '../client.ts'

const INSTRUCTIONS = `The processes of one project and their output. Start with status, then ask why for a process that is not \
running or not healthy. Answers are truncated at maxTokens; a truncated list gives the offset to continue from.`

/** Adds `mcp`, which serves a coding agent. */
export function addMcp(program: Command): void {
  program
    .command('mcp')
    .description('serve a coding agent over standard input and output (Model Context Protocol)')
    .option('--max-tokens <n>', 'maximum length of an answer if the agent sets none', wholeNumber, 4_000)
    .addHelpText(
      'after',
      examples('supervisor mcp -c /src/shop/supervisor.yaml') +
        '\n\nAn agent’s configuration:\n  {"command": "supervisor", "args": ["mcp", "-c", "/src/shop/supervisor.yaml"]}',
    )
    .action(async ({ maxTokens }: { readonly maxTokens: number }, command: Command) => {
      // Only this command pays for the protocol's modules.
      const [{ serveTools }, { answerRequest }, { agentTools }] = await Promise.all([
        import('../../../../lib/mcp/serve-tools.ts'),
        import('../mcp/answer.ts'),
        import('../mcp/tools.ts'),
      ])
      await serveTools({
        name: 'supervisor',
        title: 'Supervisor',
        instructions: INSTRUCTIONS,
        tools: agentTools,
        maxTokens,
        async answer(request, wanted) {
          // Found again for each request, because the supervisor may have been restarted.
          const { client } = await contextOf(command)
          return answerRequest(client, request, wanted)
        },
      })
    })
}
