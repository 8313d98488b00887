const DELAY_MS = 120

const byId = (id) => document.getElementById(id)
const query = byId('query')
const entries = [...byId('repos').children].map((element) => ({
  element,
  words: element.textContent.toLowerCase(),
}))
let asking = new AbortController()
let timer

/** An element with children; texts stay texts, whatever is in them. */
function make(tag, ...children) {
  const element = document.createElement(tag)
  element.append(...children)
  return element
}

function filter(words) {
  let shown = 0
  for (const entry of entries) {
    entry.element.hidden = !words.every((word) => entry.words.includes(word))
    if (!entry.element.hidden) shown++
  }
  byId('count').textContent =
    `${shown} of ${entries.length} ${entries.length === 1 ? 'repository' : 'repositories'}`
}

async function search(text) {
  asking.abort()
  asking = new AbortController()
  byId('hits').hidden = text === ''
  if (text === '') return
  const { signal } = asking
  try {
    const response = await fetch(`/_api/search?q=${encodeURIComponent(text)}`, { signal })
    if (response.redirected) return location.reload()
    show(await response.json())
  } catch (error) {
    if (!signal.aborted) byId('count').textContent = `The search does not answer: ${error.message}`
  }
}

function show({ hits, complete }) {
  const items = hits.map(({ url, title, repo, excerpt }) => {
    const link = make('a', title || url)
    link.href = url
    const where = make('span', repo)
    where.className = 'soft'
    return make('li', link, ' ', where, make('p', excerpt))
  })
  byId('hits')
    .querySelector('ol')
    .replaceChildren(...items)
  byId('none').hidden = hits.length > 0
  byId('partial').hidden = complete
}

query.addEventListener('input', () => {
  const text = query.value.trim()
  filter(text.toLowerCase().split(/\s+/))
  clearTimeout(timer)
  timer = setTimeout(() => void search(text), DELAY_MS)
})
