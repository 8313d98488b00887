import {
  CHARACTERS_PER_TOKEN,
  rowsFrom,
  type ToolAnswer,
  type Wanted,
} from '../../../../lib/mcp/fit-answer.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { pageSchema, pagesSchema } from '../../../api/pages.ts'
import { repoSchema } from '../../../api/repo.ts'
import { searchResultSchema } from '../../../api/search.ts'
import { fault } from '../../../errors.ts'
import { sectionOf } from '../../../markdown/section.ts'
import type { ContentClient } from '../client.ts'
import type { ToolRequest } from './tools.ts'

const HITS = 50
const PAGES = 1_000
const MAX_SHOWN = 200
/** Anchors in an error message. */
const MAX_ANCHORS = 50
/** Characters kept for the note about omitted text. */
const NOTE_LENGTH = 80

const reposSchema = Type.Array(repoSchema)

/** Answers a request of an agent through the server's API. */
export async function answerRequest(
  client: ContentClient,
  request: ToolRequest,
  wanted: Wanted,
): Promise<ToolAnswer> {
  if (request.is === 'search') return search(client, request, wanted)
  if (request.is === 'list_pages') return listPages(client, request, wanted)
  if (request.is === 'read_page') return { found: await readPage(client, request, wanted) }
  const all = await client.get(reposSchema, 'repos', {}, wanted.signal)
  const repositories = all.map(({ name, description = '', latest = '', versions = [] }) => ({
    name,
    description,
    latest,
    versions,
  }))
  return rowsFrom({ repositories }, wanted.offset)
}

async function search(
  client: ContentClient,
  { query, repo, version }: ToolRequest & { readonly is: 'search' },
  { offset, signal }: Wanted,
): Promise<ToolAnswer> {
  const asked = { q: query, repo, version, limit: HITS, offset }
  const { hits, total, unsearched } = await client.get(searchResultSchema, 'search', asked, signal)
  return {
    found: {
      hits: hits.map((hit) => ({
        page: hit.url,
        title: hit.title,
        version: hit.version ?? '',
        excerpt: hit.excerpt,
      })),
      ...(unsearched.length > 0 && { unsearched }),
    },
    window: { offset, total },
  }
}

async function listPages(
  client: ContentClient,
  { repo, version }: ToolRequest & { readonly is: 'list_pages' },
  { offset, signal }: Wanted,
): Promise<ToolAnswer> {
  const list = await client.get(pagesSchema, 'pages', { repo, version, limit: PAGES, offset }, signal)
  return {
    found: {
      repo,
      ...(list.version !== undefined && { version: list.version }),
      ...(list.reason !== undefined && { not_listed: list.reason }),
      pages: list.pages.map(({ url, title }) => ({ page: url, title })),
    },
    window: { offset, total: list.total },
  }
}

/** Returns the part of a page or section that begins at an offset and fits. */
async function readPage(
  client: ContentClient,
  { page, section }: ToolRequest & { readonly is: 'read_page' },
  { offset, maxTokens, signal }: Wanted,
): Promise<string> {
  const { path, anchor } = addressOf(client, page)
  const { markdown } = await client.get(pageSchema, 'page', { path }, signal)
  const wanted = section?.replace(/^#/, '') ?? anchor
  const text = wanted === '' ? markdown : sectionText(markdown, wanted, path)
  if (offset > 0 && offset >= text.length)
    throw fault('PAGE_NOT_FOUND', `the text has ${text.length} characters; choose a smaller offset`)
  const room = maxTokens * CHARACTERS_PER_TOKEN
  if (text.length - offset <= room) return text.slice(offset)
  const end = endOf(text, offset, offset + room - NOTE_LENGTH)
  return `${text.slice(offset, end).trimEnd()}\n… ${text.length - end} more characters; continue with offset=${end}`
}

/** Returns the end of the last line or word before a limit; a very long one is split. */
function endOf(text: string, offset: number, limit: number): number {
  const half = (offset + limit) / 2
  const ends = [text.lastIndexOf('\n', limit - 1), text.lastIndexOf(' ', limit - 1)].map((at) => at + 1)
  const isHalf = /[\ud800-\udbff]/.test(text.charAt(limit - 1))
  return ends.find((end) => end > half) ?? (isHalf ? limit - 1 : limit)
}

function addressOf(client: ContentClient, page: string): { readonly path: string; readonly anchor: string } {
  const url = URL.canParse(page, client.url) ? new URL(page, client.url) : undefined
  if (url?.origin !== new URL(client.url).origin)
    throw fault('PAGE_NOT_FOUND', `"${page.slice(0, MAX_SHOWN)}" is not a page of ${client.url}`)
  return { path: url.pathname, anchor: decoded(url.hash.slice(1)) }
}

function sectionText(markdown: string, anchor: string, path: string): string {
  const found = sectionOf(markdown, anchor)
  if ('text' in found) return found.text
  const { anchors } = found
  const known = anchors.slice(0, MAX_ANCHORS).join(', ')
  throw fault(
    'PAGE_NOT_FOUND',
    `${path.slice(0, MAX_SHOWN)} has no section "${anchor.slice(0, MAX_SHOWN)}"; its sections: ${known || 'none'}${anchors.length > MAX_ANCHORS ? ' …' : ''}`,
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
