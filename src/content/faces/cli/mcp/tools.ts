import { type AgentTool, defineTool, type ToolParameter } from '../../../../lib/mcp/tool.ts'

/** The request that produces a tool's answer. */
export type ToolRequest =
  | {
      readonly is: 'search'
      readonly query: string
      readonly repo: string | undefined
      readonly version: string | undefined
    }
  | { readonly is: 'read_page'; readonly page: string; readonly section: string | undefined }
  | { readonly is: 'list_repos' }
  | { readonly is: 'list_pages'; readonly repo: string; readonly version: string | undefined }

const repo: ToolParameter = { type: 'string', description: 'name of a repository, from list_repos' }
const version: ToolParameter = { type: 'string', description: 'version or alias; default: the latest' }

/** All tools of the content server. */
export const agentTools: readonly AgentTool<ToolRequest>[] = [
  defineTool(
    {
      name: 'search',
      description: 'Find pages that contain all words, best first, with excerpts; page is for read_page',
      parameters: { query: { type: 'string', description: 'words to search for' }, repo, version },
      required: ['query'],
      isReadOnly: true,
    },
    (args) => ({
      is: 'search',
      query: String(args['query']),
      repo: textOf(args['repo']),
      version: textOf(args['version']),
    }),
  ),
  defineTool(
    {
      name: 'read_page',
      description:
        'Read a page, or one section of it, as Markdown; offset is a position in the text, from a truncated answer',
      parameters: {
        page: { type: 'string', description: 'path of the page, from search or list_pages' },
        section: {
          type: 'string',
          description: 'id of a section: {#id} after a heading, or the part of a search result after #',
        },
      },
      required: ['page'],
      isReadOnly: true,
    },
    (args) => ({ is: 'read_page', page: String(args['page']), section: textOf(args['section']) }),
  ),
  defineTool(
    {
      name: 'list_repos',
      description: 'List the repositories with descriptions and versions',
      parameters: {},
      required: [],
      isReadOnly: true,
    },
    () => ({ is: 'list_repos' }),
  ),
  defineTool(
    {
      name: 'list_pages',
      description: 'List the pages of a repository with their titles',
      parameters: { repo, version },
      required: ['repo'],
      isReadOnly: true,
    },
    (args) => ({ is: 'list_pages', repo: String(args['repo']), version: textOf(args['version']) }),
  ),
]

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
