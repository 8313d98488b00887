import type { FastifyReply, FastifyRequest } from 'fastify'
import { visibleRepos } from '../../access/grants.ts'
import { fault } from '../../errors.ts'
import { formatLlms, type LlmsEntry, type LlmsSection } from '../../markdown/llms-text.ts'
import type { Page } from '../../page/find-page.ts'
import { formatPath } from '../../page/request-path.ts'
import type { Repo } from '../../repo/meta.ts'
import type { PageList } from '../../search/site-search.ts'
import { readerOf } from './admission.ts'
import type { ContentFace } from './face.ts'

type LlmsPage = Extract<Page, { readonly is: 'llms' }>

/** Maximum number of pages that are listed. */
const MAX_PAGES = 2_000
const ON_MARKDOWN = 'To get a page as Markdown, append `.md` to its address, or send `Accept: text/markdown`.'

/** Responds with a list of what the reader may read, for programs. */
export async function sendLlms(
  face: ContentFace,
  page: LlmsPage,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<'sent'> {
  const repos = visibleRepos(await face.repos.read(), readerOf(request).grants)
  const text =
    page.repo === undefined
      ? siteText(face, repos, request)
      : await repoText(face, repos.get(page.repo), page, request)
  void reply
    .header('cache-control', 'private, no-cache')
    .header('vary', 'cookie, authorization')
    .header('referrer-policy', 'same-origin')
    .type('text/plain; charset=utf-8')
    .send(text)
  return 'sent'
}

function siteText(face: ContentFace, repos: ReadonlyMap<string, Repo>, request: FastifyRequest): string {
  const entries = [...repos.values()].flatMap(({ name, description }): LlmsEntry[] => {
    const path = { segments: ['repos', name, 'llms.txt'], isDirectory: false }
    const url = face.hosts.redirect(request.headers.host ?? '', path)
    if (url === 'nowhere') return []
    return [{ title: name, url: url ?? formatPath(path.segments, false), description }]
  })
  return formatLlms({
    title: face.config.title,
    notes: [
      'Each repository has a list of its pages. `/_api/search?q=WORDS` searches the pages of all repositories.',
      ON_MARKDOWN,
    ],
    sections: [{ heading: 'Repositories', entries }],
    more: 0,
    hint: '`/_api/repos` lists all repositories.',
  })
}

async function repoText(
  { search, hosts }: ContentFace,
  repo: Repo | undefined,
  { version }: LlmsPage,
  request: FastifyRequest,
): Promise<string> {
  const asked = repo && { repo: repo.name, version, limit: MAX_PAGES, offset: 0 }
  const list = asked && (await search.list(asked, readerOf(request).grants))
  // It may have been removed meanwhile.
  if (repo === undefined || list === undefined)
    throw fault('PAGE_NOT_FOUND', 'nothing is published at this path')
  const { host = '' } = request.headers
  const find = request.repo === undefined ? `&repo=${encodeURIComponent(repo.name)}` : ''
  const others = (repo.versions ?? []).filter((each) => each !== list.version)
  return formatLlms({
    title: repo.name,
    description: repo.description,
    notes: [
      ...(list.version === undefined ? [] : [`Version ${list.version}.`]),
      ...(others.length === 0 ? [] : [`Other versions: ${others.slice(0, 20).join(', ')}.`]),
      ...(list.problem === undefined ? [] : [`The pages cannot be listed: \`${list.problem}\`.`]),
      `\`/_api/search?q=WORDS${find}\` searches the pages.`,
      ON_MARKDOWN,
    ],
    sections: sectionsOf(list, (path) => hosts.outside(host, path)),
    more: list.total - list.pages.length,
    hint: `\`/_api/pages?offset=${list.pages.length}${find}\` lists more pages.`,
  })
}

/** Returns the pages by the first folder of their paths. */
function sectionsOf({ pages, folder }: PageList, outside: (path: string) => string): readonly LlmsSection[] {
  const sections = new Map<string, LlmsEntry[]>([['', []]])
  for (const { path, title } of pages) {
    const segments = path.split('/')
    const [first = ''] = segments
    const name = segments.length > 1 ? first : ''
    const entries = sections.get(name) ?? []
    sections.set(name, entries)
    entries.push({
      title: title || path,
      url: outside(formatPath([...folder, `${path}.md`].join('/').split('/'), false)),
    })
  }
  return [...sections].map(([name, entries]) => ({ heading: name || 'Pages', entries }))
}
