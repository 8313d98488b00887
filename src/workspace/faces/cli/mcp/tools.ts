import { type AgentTool, defineTool } from '../../../../lib/mcp/tool.ts'
import { insideTools } from './inside-tools.ts'
import { ACCESS_LEVELS, type AccessLevel, type LeveledTool, text, type ToolRequest } from './tool-request.ts'

/**
 * Returns the tools that an agent gets.
 *
 * @param only the workspace to which the agent is limited: no tool then has a parameter for it, or shows others
 */
export function agentTools(level: AccessLevel, only: string | undefined): readonly AgentTool<ToolRequest>[] {
  const allowed = ACCESS_LEVELS.slice(0, ACCESS_LEVELS.indexOf(level) + 1)
  const all = [...insideTools(only), ...(only === undefined ? serverTools() : [])]
  return all.filter((each) => allowed.includes(each.level)).map(({ tool }) => tool)
}

/** Tools that are not about one workspace. */
function serverTools(): readonly LeveledTool[] {
  return [
    {
      level: 'read',
      tool: defineTool(
        {
          name: 'workspaces',
          description: 'List all workspaces with status, image and repository',
          parameters: {},
          required: [],
          isReadOnly: true,
        },
        () => ({ is: 'workspaces' }),
      ),
    },
    {
      level: 'manage',
      tool: defineTool(
        {
          name: 'create_workspace',
          description: 'Create a workspace and wait until it is running',
          parameters: {
            name: text('1 to 63 letters, digits and hyphens'),
            image: text("Docker image; default the server's"),
            repo: text('repository to clone into /workspace: owner/repo on GitHub, or a URL'),
            template: text('template of the server'),
          },
          required: ['name'],
          isReadOnly: false,
          isDestructive: false,
        },
        (body) => ({ is: 'create', body }),
      ),
    },
    {
      level: 'manage',
      tool: defineTool(
        {
          name: 'fork_workspace',
          description: 'Create workspaces with the files of another, to try several ways at once',
          parameters: {
            workspace: text('name of a workspace'),
            count: { type: 'integer', description: 'number of forks; default 1', minimum: 1, maximum: 64 },
            prefix: text('names are PREFIX-1, PREFIX-2 …; default NAME-fork'),
          },
          required: ['workspace'],
          isReadOnly: false,
          isDestructive: false,
        },
        ({ workspace, ...body }) => ({ is: 'fork', workspace: String(workspace), body }),
      ),
    },
  ]
}
