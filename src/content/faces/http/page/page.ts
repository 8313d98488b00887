import { byId, make } from '../../../../lib/page/elements.ts'

const DELAY_MS = 120

/** The response of `/_api/search`. */
interface SearchAnswer {
  readonly hits: readonly {
    readonly repo: string
    readonly url: string
    readonly title: string
    readonly excerpt: string
  }[]
  readonly complete: boolean
}

const query = byId('query', HTMLInputElement)
const count = byId('count', HTMLElement)
const results = byId('hits', HTMLElement)
const entries = [...byId('repos', HTMLElement).querySelectorAll<HTMLElement>(':scope > *')].map(
  (element) => ({
    element,
    text: element.textContent.toLowerCase(),
  }),
)
let asking = new AbortController()
let timer: ReturnType<typeof setTimeout> | undefined

function filter(words: readonly string[]): void {
  for (const { element, text } of entries) element.hidden = !words.every((word) => text.includes(word))
  const shown = entries.filter(({ element }) => !element.hidden).length
  count.textContent = `${shown} of ${entries.length} ${entries.length === 1 ? 'repository' : 'repositories'}`
}

async function search(text: string): Promise<void> {
  asking.abort()
  asking = new AbortController()
  results.hidden = text === ''
  if (text === '') return
  const { signal } = asking
  try {
    const response = await fetch(`/_api/search?q=${encodeURIComponent(text)}`, { signal })
    if (response.redirected) return location.reload()
    show((await response.json()) as SearchAnswer)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (!signal.aborted) count.textContent = `The search does not answer: ${message}`
  }
}

function show({ hits, complete }: SearchAnswer): void {
  const items = hits.map(({ url, title, repo, excerpt }) =>
    make(
      'li',
      {},
      make('a', { href: url }, title || url),
      ' ',
      make('span', { className: 'soft' }, repo),
      make('p', {}, excerpt),
    ),
  )
  results.querySelector('ol')?.replaceChildren(...items)
  byId('none', HTMLElement).hidden = hits.length > 0
  byId('partial', HTMLElement).hidden = complete
}

query.addEventListener('input', () => {
  const text = query.value.trim()
  filter(text.toLowerCase().split(/\s+/))
  clearTimeout(timer)
  timer = setTimeout(() => void search(text), DELAY_MS)
})
