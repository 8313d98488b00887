import { Parser } from 'htmlparser2'
import { isHeading, type PageElement, PageElements } from '../markdown/page-elements.ts'

/** Text of an HTML page. */
export interface PageText {
  readonly title: string
  readonly text: string
  /** Sections that links can refer to, in text order. */
  readonly sections: Section[]
  /** Whether the page has more text than the limit. */
  readonly isCut: boolean
}

/** Start of a section in the text, and the id of its heading. */
interface Section {
  readonly at: number
  readonly anchor: string
}

/** Elements that may occur inside a word. */
const INLINE = new Set(
  'a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q rb rp rt rtc ruby s samp small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
)
/** Pronunciations of a text, and the parentheses for them. */
const READINGS = new Set(['rt', 'rtc', 'rp'])
const WIDE = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}\u3000-\u303f\uff00-\uffef]`
/** A line break between Chinese or Japanese characters, which separates no words (CSS Text 3, section 4.1.3). */
const WIDE_BREAK = new RegExp(String.raw`(?<=${WIDE})[ \t]*\r?\n\s*(?=${WIDE})`, 'gu')
const MAX_TEXT = 200_000
const MAX_SECTIONS = 1_000
const MAX_ANCHOR = 200

/**
 * Reads the title, text and sections of a page, ignoring everything outside its main part.
 *
 * @param onLink called with each link and source of the whole page
 */
export function readPageText(html: string, onLink?: (address: string) => void): PageText {
  const [title, heading, all, main] = [new Words(), new Words(), new Words(), new Words()]
  const elements = new PageElements()
  let field: Words | undefined
  /** Number of open readings. */
  let readings = 0
  const separate = (name: string): void => {
    if (INLINE.has(name)) return
    all.add(' ')
    main.add(' ')
  }
  const begin = ({ section, isSilent, isMain }: PageElement): void => {
    if (section === undefined || isSilent) return
    all.beginSection(section)
    if (isMain) main.beginSection(section)
  }
  const parser = new Parser({
    onopentag(name, attributes) {
      const { href, src } = attributes
      if (href !== undefined) onLink?.(href)
      if (src !== undefined) onLink?.(src)
      separate(name)
      if (READINGS.has(name)) readings++
      begin(elements.open(name, attributes))
      if (name === 'title' && title.isEmpty) field = title
      if (name === 'h1' && heading.isEmpty) field = heading
    },
    onclosetag(name) {
      const closed = elements.close()
      if (isHeading(name) && closed?.isSilent === false) {
        all.endHeading()
        if (closed.isMain) main.endHeading()
      }
      separate(name)
      if (READINGS.has(name)) readings--
      if (name === 'title' || name === 'h1') field = undefined
    },
    ontext(text) {
      if (readings > 0) return
      field?.add(text)
      const { isSilent = false, isMain = false } = elements.innermost ?? {}
      if (isSilent || field === title) return
      all.add(text)
      if (isMain) main.add(text)
    },
  })
  parser.end(html)
  const body = main.isEmpty ? all : main
  return {
    title: heading.text || title.text,
    text: body.text,
    sections: body.sections,
    isCut: body.isCut,
  }
}

/** Text with single spaces between words, and the sections that start in it. */
class Words {
  readonly sections: Section[] = []
  isCut = false
  // Reading the end of a single string would copy all of it after each addition.
  readonly #parts: string[] = []
  #length = 0
  /** At least the last character. */
  #end = ''
  #hasSpace = false
  /** Whether the text ends with a period that no text follows yet. */
  #hasPeriod = false

  get text(): string {
    return this.#parts.slice(0, this.#hasPeriod ? -1 : undefined).join('')
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0
  }

  add(text: string): void {
    const room = MAX_TEXT - this.#length
    if (text.length > room && text.slice(room).trim() !== '') this.isCut = true
    // Themes add a pilcrow link to each heading.
    const joined = text.slice(0, room).replace(WIDE_BREAK, '')
    // oxlint-disable-next-line no-control-regex -- control characters separate words of the index
    const spaced = joined.replace(/[\s\u0000-\u001f\u007f¶]+/g, ' ')
    if (spaced.startsWith(' ')) this.#addSpace()
    const words = spaced.trim()
    if (words === '') return
    this.#append(words)
    this.#hasPeriod = false
    if (spaced.endsWith(' ')) this.#addSpace()
  }

  /** Separates a heading from what follows, in excerpts too. */
  endHeading(): void {
    if (this.isEmpty || /\p{P}$/u.test(this.#end) || this.#length + 2 > MAX_TEXT) return
    if (this.#hasSpace) this.#length--
    this.#hasSpace = false
    this.#append('.')
    this.#addSpace()
    this.#hasPeriod = true
  }

  beginSection(anchor: string): void {
    if (anchor.length > MAX_ANCHOR || anchor === '' || this.sections.length >= MAX_SECTIONS) return
    // A page's title heading may repeat the section that contains it.
    if (this.sections.at(-1)?.anchor !== anchor) this.sections.push({ at: this.#length, anchor })
  }

  #append(words: string): void {
    this.#parts.push(this.#hasSpace ? ` ${words}` : words)
    this.#length += words.length
    this.#end = words.slice(-2)
    this.#hasSpace = false
  }

  /** Adds a space, which is part of the text if words follow. */
  #addSpace(): void {
    if (this.isEmpty || this.#hasSpace) return
    this.#hasSpace = true
    this.#length++
  }
}
