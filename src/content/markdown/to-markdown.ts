import { Parser } from 'htmlparser2'
import { escapeTitle, oneLine } from './escape.ts'
import { MarkdownWriter } from './markdown-writer.ts'
import { PageElements } from './page-elements.ts'

/** An HTML page as Markdown. */
export interface MarkdownPage {
  readonly markdown: string
  /** Whether the page has more content than the limits. */
  readonly isCut: boolean
}

/** Maximum length of the Markdown. */
const MAX_LENGTH = 2_000_000
/** Deeper pages are cut: the parser takes time for each open element. */
const MAX_DEPTH = 500
const MAX_TITLE = 1_000
/** Characters parsed between two checks of the depth. */
const STEP = 4_096
const CUT_NOTE = '*The rest of this page is left out.*'

/** Converts the content of an HTML page to Markdown, without what surrounds it on every page. */
export function toMarkdown(html: string): MarkdownPage {
  let base: string | undefined
  let title = ''
  let heading = ''
  let field: 'title' | 'h1' | undefined
  const elements = new PageElements()
  const create = (): MarkdownWriter => new MarkdownWriter(MAX_LENGTH, () => base)
  const main = create()
  // Undefined when the page has a main part.
  let all: MarkdownWriter | undefined = create()
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === 'base') base ??= attributes['href']
      if (name === 'title' && title === '') field = 'title'
      if (name === 'h1' && heading === '') field = 'h1'
      const around = elements.innermost
      const { isSilent, isMain, section } = elements.open(name, attributes)
      if (around?.isSilent === true) return
      for (const writer of isMain ? [main, all] : [all]) {
        if (isSilent || (writer === main && around?.isMain !== true)) writer?.skip(name)
        else writer?.open(name, attributes)
        if (section !== undefined && !isSilent) writer?.beginSection(section)
      }
    },
    onclosetag(name) {
      if (name === field) field = undefined
      const closed = elements.close()
      if (closed === undefined || closed.isSilent) return
      all?.close()
      if (elements.innermost?.isMain === true) main.close()
    },
    ontext(text) {
      if (field === 'title') title = (title + text).slice(0, MAX_TITLE)
      if (field === 'h1') heading = (heading + text).slice(0, MAX_TITLE)
      const { isSilent = false, isMain = false } = elements.innermost ?? {}
      if (isSilent || field === 'title') return
      all?.text(text)
      if (!isMain) return
      main.text(text)
      if (!main.isEmpty) all = undefined
    },
  })
  let isCut = false
  for (let at = 0; at < html.length && !isCut; at += STEP) {
    parser.write(html.slice(at, at + STEP))
    isCut = elements.depth > MAX_DEPTH || (all ?? main).isCut
  }
  if (!isCut) parser.end()
  const writer = all ?? main
  const body = writer.end()
  const named = oneLine(heading) || oneLine(title)
  const parts = [writer.hasTitle || named === '' ? '' : `# ${escapeTitle(named)}`, body]
  isCut ||= writer.isCut
  if (isCut) parts.push(CUT_NOTE)
  const text = parts.filter((part) => part !== '').join('\n\n')
  return { markdown: text === '' ? '' : `${text}\n`, isCut }
}
