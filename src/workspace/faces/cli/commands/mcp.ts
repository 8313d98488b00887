import { type Command, Option } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { addServerOption, contextOf } from '../context.ts'
import { ACCESS_LEVELS } from '../mcp/tool-request.ts'

const INSTRUCTIONS = `Isolated development environments. Commands and files of the tools are inside a workspace, not on this machine. \
Answers are truncated at maxTokens; a truncated list gives the offset to continue from. Run servers and long builds with start_process.`

interface McpOptions {
  readonly maxTokens: number
  readonly access: (typeof ACCESS_LEVELS)[number]
  readonly workspace?: string
}

/** Adds `mcp`, which serves a coding agent. */
export function addMcp(program: Command): void {
  addServerOption(program.command('mcp'))
    .description('serve a coding agent over standard input and output (Model Context Protocol)')
    .option('-w, --workspace <name>', 'limit the agent to one workspace')
    .addOption(
      new Option(
        '--access <level>',
        'read: look; work: also run programs and change files; manage: also create and delete workspaces',
      )
        .choices(ACCESS_LEVELS)
        .default('work'),
    )
    .option('--max-tokens <n>', 'maximum length of an answer if the agent sets none', wholeNumber, 4_000)
    .addHelpText(
      'after',
      examples('workspace mcp --workspace demo') +
        '\n\nAn agent’s configuration:\n  {"command": "workspace", "args": ["mcp", "--workspace", "demo"]}',
    )
    .action(async ({ maxTokens, access, workspace }: McpOptions, command: Command) => {
      // Only this command pays for the protocol's modules.
      const [{ serveTools }, { answerRequest }, { agentTools }] = await Promise.all([
        import('../../../../lib/mcp/serve-tools.ts'),
        import('../mcp/answer.ts'),
        import('../mcp/tools.ts'),
      ])
      await serveTools({
        name: 'workspace',
        title: 'Workspaces',
        instructions: INSTRUCTIONS,
        tools: agentTools(access, workspace),
        maxTokens,
        async answer(request, wanted) {
          // Found again for each request, because the server may have been restarted.
          const { client } = await contextOf(command)
          return answerRequest(client, request, wanted)
        },
      })
    })
}
