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
  'a abbr b bdi bdo big cite code data dfn em font i mark q rb rp rt rtc ruby samp small span strong sub sup time tt u var wbr'.split(
    ' ',
  ),
)
/** Pronunciations of a text, and the parentheses for them. */
const READINGS = new Set(['rt', 'rtc', 'rp'])
const WIDE = String.raw`[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Bopo}\u3000-\u303f\uff00-\uffef]`
/** A line break between Chinese or Japanese characters, which separates no words (CSS Text 3, section 4.1.3). */
const WIDE_BREAK = new RegExp(String.raw`(?<=${WIDE})[ \t]*\r?\n[ \t\r\n]*(?=${WIDE})`, 'gu')
const WIDE_END = new RegExp(`${WIDE}$`, 'u')
const WIDE_START = new RegExp(`^${WIDE}`, 'u')
/** Gaps between words that follow and those before; of several, the greatest counts. */
const [NOTHING, SPACE, LINE_BREAK, SEPARATOR] = [0, 1, 2, 3] as const
type Gap = typeof NOTHING | typeof SPACE | typeof LINE_BREAK | typeof SEPARATOR
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
  /** Numbers of open elements. */
  let [rubies, readings, preformatted] = [0, 0, 0]
  const separate = (name: string): void => {
    if (INLINE.has(name)) return
    // It ends ruby that has no end.
    rubies = readings = 0
    all.separate()
    main.separate()
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
      if (name === 'pre') preformatted++
      if (name === 'ruby') rubies++
      if (READINGS.has(name) && rubies > 0) readings++
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
      if (name === 'pre') preformatted--
      if (name === 'ruby') rubies = Math.max(0, rubies - 1)
      if (READINGS.has(name)) readings = Math.max(0, readings - 1)
      if (name === 'title' || name === 'h1') field = undefined
    },
    ontext(text) {
      if (readings > 0) return
      const hasLines = preformatted > 0
      field?.add(text, hasLines)
      const { isSilent = false, isMain = false } = elements.innermost ?? {}
      if (isSilent || field === title) return
      all.add(text, hasLines)
      if (isMain) main.add(text, hasLines)
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
  #gap: Gap = NOTHING
  /** Whether the text ends with a period that no text follows yet. */
  #hasPeriod = false

  get text(): string {
    return this.#parts.slice(0, this.#hasPeriod ? -1 : undefined).join('')
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0
  }

  /** @param hasLines whether line breaks are shown */
  add(text: string, hasLines: boolean): void {
    const room = MAX_TEXT - this.#length
    if (text.length > room && text.slice(room).trim() !== '') this.isCut = true
    const joined = hasLines ? text.slice(0, room) : text.slice(0, room).replace(WIDE_BREAK, '')
    // Themes add a pilcrow link to each heading.
    // oxlint-disable-next-line no-control-regex -- control characters separate words of the index
    const spaced = joined.replace(/[\s\u0000-\u001f\u007f¶]+/g, ' ')
    const gapOf = (space = ''): Gap => (!hasLines && space.includes('\n') ? LINE_BREAK : SPACE)
    if (spaced.startsWith(' ')) this.#addGap(gapOf(/^\s*/.exec(joined)?.[0]))
    const words = spaced.trim()
    if (words === '') return
    this.#append(words)
    this.#hasPeriod = false
    if (spaced.endsWith(' ')) this.#addGap(gapOf(joined.slice(joined.trimEnd().length)))
  }

  /** Separates words that follow from those before. */
  separate(): void {
    this.#addGap(SEPARATOR)
  }

  /** Separates a heading from what follows, in excerpts too. */
  endHeading(): void {
    if (this.isEmpty || /\p{P}$/u.test(this.#end) || this.#length + 2 > MAX_TEXT) return
    this.#dropGap()
    this.#append('.')
    this.separate()
    this.#hasPeriod = true
  }

  beginSection(anchor: string): void {
    if (anchor.length > MAX_ANCHOR || anchor === '' || this.sections.length >= MAX_SECTIONS) return
    // A page's title heading may repeat the section that contains it.
    if (this.sections.at(-1)?.anchor !== anchor) this.sections.push({ at: this.#length, anchor })
  }

  #append(words: string): void {
    if (this.#gap === LINE_BREAK && WIDE_END.test(this.#end) && WIDE_START.test(words)) this.#dropGap()
    this.#parts.push(this.#gap === NOTHING ? words : ` ${words}`)
    this.#length += words.length
    this.#end = words.slice(-2)
    this.#gap = NOTHING
  }

  /** Adds a space, which is part of the text if words follow. */
  #addGap(gap: Gap): void {
    if (this.isEmpty) return
    if (this.#gap === NOTHING) this.#length++
    if (gap > this.#gap) this.#gap = gap
  }

  #dropGap(): void {
    if (this.#gap !== NOTHING) this.#length--
    this.#gap = NOTHING
  }
}
