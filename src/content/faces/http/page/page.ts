import { byId, make } from '../../../../lib/page/elements.ts'
import { matchesWords, reposText, resultText, splitMarks, unsearchedText } from './result-text.ts'

const DELAY_MS = 120

/** The response of `/_api/search`. */
interface SearchAnswer {
  readonly hits: readonly {
    readonly repo: string
    readonly version?: string
    readonly url: string
    readonly title: string
    readonly excerpt: string
    readonly marks: readonly (readonly number[])[]
  }[]
  readonly total: number
  readonly next_offset?: number
  readonly unsearched: readonly {
    readonly repo: string
    readonly version?: string
    readonly reason: string
  }[]
}

const query = byId('query', HTMLInputElement)
const count = byId('count', HTMLElement)
const results = byId('hits', HTMLElement)
const entries = [...byId('repos', HTMLElement).querySelectorAll<HTMLElement>(':scope > *')].map(
  (element) => ({
    element,
    text: element.textContent,
  }),
)
let asking = new AbortController()
let timer: ReturnType<typeof setTimeout> | undefined

function filter(words: string): void {
  for (const { element, text } of entries) element.hidden = !matchesWords(text, words)
  const shown = entries.filter(({ element }) => !element.hidden).length
  count.textContent = reposText(shown, entries.length)
}

async function search(text: string): Promise<void> {
  asking.abort()
  asking = new AbortController()
  results.hidden = text === ''
  if (text === '') return
  const { signal } = asking
  const asked = queryFor(text)
  try {
    const response = await fetch(`/_api/search?${asked.toString()}`, { signal })
    if (response.redirected) return location.reload()
    if (!response.ok) throw new Error(`status ${response.status}`)
    show((await response.json()) as SearchAnswer, asked)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (!signal.aborted) count.textContent = `Search failed: ${message}`
  }
}

/** Returns the query of the page's search form. */
function queryFor(words: string): URLSearchParams {
  const asked = new URLSearchParams({ q: words })
  for (const input of query.form?.querySelectorAll<HTMLInputElement>('input[type=hidden]') ?? [])
    asked.set(input.name, input.value)
  return asked
}

function show({ hits, total, next_offset: next, unsearched }: SearchAnswer, asked: URLSearchParams): void {
  const items = hits.map(({ url, title, repo, version, excerpt, marks }) => {
    const inRepo = new URLSearchParams({ q: asked.get('q') ?? '', repo })
    return make(
      'li',
      {},
      make('a', { href: url }, title || url),
      ' ',
      make(
        'span',
        { className: 'soft' },
        make('a', { href: `/?${inRepo.toString()}` }, repo),
        version === undefined ? '' : ` ${version}`,
      ),
      make(
        'p',
        {},
        ...splitMarks(excerpt, marks).map(({ text, isMarked }) => (isMarked ? make('mark', {}, text) : text)),
      ),
    )
  })
  const list = results.querySelector('ol')
  list?.setAttribute('start', '1')
  list?.replaceChildren(...items)
  byId('found', HTMLElement).textContent = resultText(hits.length, 0, total)
  const partial = byId('partial', HTMLElement)
  partial.hidden = unsearched.length === 0
  partial.textContent = unsearchedText(unsearched)
  const more = byId('more', HTMLAnchorElement)
  more.hidden = next === undefined
  more.href = `/?${asked.toString()}&offset=${next ?? 0}`
}

function searchSoon(): void {
  const text = query.value.trim()
  filter(text)
  clearTimeout(timer)
  timer = setTimeout(() => void search(text), DELAY_MS)
}

query.addEventListener('input', searchSoon)
// Typed before this script had arrived.
if (query.value !== query.defaultValue) searchSoon()
