import { Parser } from 'htmlparser2'

/** What a page of HTML says. */
export interface PageText {
  readonly title: string
  readonly text: string
}

/** Elements whose text is no part of what a page says. */
const SILENT = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'svg',
  'nav',
  'header',
  'footer',
  'aside',
  'button',
  'select',
  'form',
])
const SILENT_ROLES = new Set(['navigation', 'search', 'dialog', 'banner', 'contentinfo', 'complementary'])
/** Where there is one, the text outside of it is only what surrounds every page. */
const MAIN = new Set(['main', 'article'])
/** Elements that may stand inside a word. */
const INLINE = new Set([
  'a',
  'abbr',
  'b',
  'code',
  'em',
  'i',
  'mark',
  'small',
  'span',
  'strong',
  'sub',
  'sup',
  'u',
  'wbr',
])
const MAX_TEXT = 200_000

/** What an element is by its name or its role; those inside it are so too. */
interface Open {
  readonly isSilent: boolean
  readonly isMain: boolean
}

/** Reads the title and the words of a page; what surrounds its main part is left out. */
export function readPageText(html: string): PageText {
  const texts = { title: '', heading: '', all: '', main: '' }
  const open: Open[] = []
  let field: 'title' | 'heading' | undefined
  const separate = (name: string): void => {
    if (INLINE.has(name)) return
    texts.all += ' '
    texts.main += ' '
  }
  const parser = new Parser({
    onopentag(name, { role = '' }) {
      separate(name)
      const around = open.at(-1) ?? { isSilent: false, isMain: false }
      open.push({
        isSilent: around.isSilent || SILENT.has(name) || SILENT_ROLES.has(role),
        isMain: around.isMain || MAIN.has(name) || role === 'main',
      })
      if (name === 'title' && texts.title === '') field = 'title'
      if (name === 'h1' && texts.heading === '') field = 'heading'
    },
    onclosetag(name) {
      open.pop()
      separate(name)
      if (name === 'title' || name === 'h1') field = undefined
    },
    ontext(text) {
      if (field !== undefined) texts[field] += text
      const { isSilent = false, isMain = false } = open.at(-1) ?? {}
      if (isSilent || field === 'title') return
      if (texts.all.length < MAX_TEXT) texts.all += text
      if (isMain && texts.main.length < MAX_TEXT) texts.main += text
    },
  })
  parser.end(html)
  return {
    title: squeezed(texts.heading) || squeezed(texts.title),
    text: squeezed(texts.main) || squeezed(texts.all),
  }
}

/** Themes put a mark behind each heading that links to it. */
function squeezed(text: string): string {
  return text.replaceAll('¶', ' ').replace(/\s+/g, ' ').trim()
}
