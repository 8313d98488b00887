import { Blocks } from './blocks.ts'
import { escapeLine, fenceFor, withoutControls } from './escape.ts'
import { Inline } from './inline.ts'
import { type Attributes, isHeading } from './page-elements.ts'
import { Table } from './table.ts'

/** Elements that may occur inside a paragraph; all others end it. */
const INLINE = new Set(
  `a abbr acronym b bdi bdo big br cite code data del dfn em font i img input ins kbd label mark output q
  rp rt ruby s samp small span strike strong sub sup time tt u var wbr
  button iframe noscript script select style svg template textarea`.split(/\s+/),
)
const LISTS = new Set(['ul', 'ol', 'dl', 'menu', 'dir'])
const ITEMS = new Set(['li', 'dt'])
/** Elements that continue the item of a definition list, which their end must not close. */
const IN_DEFINITION = new Set(['dt', 'dd'])
/** Elements that may have the language of the code inside. */
const WITH_LANGUAGE = new Set(['div', 'figure', 'pre', 'code'])
/** Classes with the language of a code block, by several generators. */
const LANGUAGE =
  /(?:^|\s)(?:(?:highlight-source|highlight|language|lang)-|brush:\s*)([a-z0-9_+#.-]{1,32})(?=[\s;]|$)/i
/** A language's class that means none. */
const NO_LANGUAGE = new Set(['default', 'text', 'none', 'plaintext', 'notranslate'])
/** An id that can be shown as an attribute of a heading. */
const ANCHOR = /^[\p{L}\p{N}_.:/-]{1,200}$/u
const MAX_NUMBER = 999_999_999

/** State of an open element that its end needs. */
interface Open {
  readonly name: string
  readonly containers: Blocks['open']
  readonly format: ReturnType<Inline['open']>
  /** Language of the code blocks inside. */
  readonly language: string | undefined
  /** Number of columns of a cell. */
  readonly span: number
}

/** Writes the elements of a page as Markdown. */
export class MarkdownWriter {
  readonly #blocks: Blocks
  readonly #inline = new Inline()
  readonly #open: Open[] = []
  /** Characters of text that are still accepted. */
  #room: number
  /** Address of the page's `base` element. */
  readonly #base: () => string | undefined
  #table: Table | undefined
  /** Text of the open code block. */
  #code: string | undefined
  /** Language of an element in the code block. */
  #language: string | undefined
  #section: string | undefined
  #isCut = false
  hasTitle = false

  constructor(maxLength: number, base: () => string | undefined) {
    this.#blocks = new Blocks(maxLength)
    this.#room = maxLength
    this.#base = base
  }

  /** Whether there is more content than the limit. */
  get isCut(): boolean {
    return this.#isCut || this.#blocks.isCut
  }

  get isEmpty(): boolean {
    return this.#blocks.isEmpty && this.#inline.isEmpty
  }

  open(name: string, attributes: Attributes): void {
    const around = this.#open.at(-1)
    if (!INLINE.has(name)) this.#endParagraph()
    if (isHeading(name)) this.#section = undefined
    this.#open.push({
      name,
      containers: this.#blocks.open,
      format: this.#code === undefined ? this.#inline.open(name, attributes, this.#base()) : undefined,
      language: languageOf(name, attributes) ?? around?.language,
      span: Number(/^\d{1,3}$/.exec(attributes['colspan'] ?? '')?.[0] ?? 1),
    })
    if (this.#code !== undefined) this.#language ??= languageOf(name, attributes)
    this.#begin(name, attributes)
  }

  /** Ends the innermost element. */
  close(): void {
    const open = this.#open.pop()
    if (open === undefined) return
    const { name, format } = open
    if (format !== undefined) this.#inline.close(format)
    if (name === 'pre') this.#endCode(open)
    else if (isHeading(name) && this.#table === undefined) this.#endHeading(Number(name.slice(1)))
    else if (name === 'table') this.#endTable()
    else if (name === 'td' || name === 'th') this.#endCell(open)
    else if (name === 'caption') this.#addParagraph()
    else if (!INLINE.has(name)) this.#endParagraph()
    if (!INLINE.has(name) && !IN_DEFINITION.has(name)) this.#blocks.close(open.containers)
  }

  /** Leaves an element out, which may separate the text around it. */
  skip(name: string): void {
    if (!INLINE.has(name)) this.#endParagraph()
  }

  /** Begins a section of the page. @param anchor its id */
  beginSection(anchor: string): void {
    this.#section = anchor
  }

  text(text: string): void {
    const kept = this.#take(withoutControls(text))
    if (this.#code === undefined) this.#inline.add(kept.replace(/[¶\u200b\ufeff]/g, ''))
    else this.#code += kept
  }

  /** Ends the page and returns its text. */
  end(): string {
    while (this.#open.length > 0) this.close()
    this.#addParagraph()
    return this.#blocks.text
  }

  #begin(name: string, attributes: Attributes): void {
    if (name === 'br') this.#addBreak()
    else if (name === 'img') this.#addImage(attributes)
    else if (name === 'pre') this.#beginCode()
    else if (name === 'table') this.#beginTable()
    else if (name === 'tr') this.#table?.addRow()
    else if (this.#table !== undefined) return
    else if (name === 'hr') this.#blocks.add(['---'])
    else if (name === 'blockquote') this.#blocks.openQuote()
    else if (LISTS.has(name)) this.#blocks.openList(name === 'ol' ? firstNumber(attributes) : undefined)
    else if (ITEMS.has(name)) this.#blocks.openItem()
  }

  #addBreak(): void {
    if (this.#code === undefined) this.#inline.addBreak()
    else this.#code += '\n'
    this.#take('\n')
  }

  #addImage({ alt = '', src = '' }: Attributes): void {
    if (this.#code !== undefined) return
    const source = src.length <= this.#room ? src : ''
    this.#take(source)
    this.#inline.addImage(this.#take(withoutControls(alt)), source, this.#base())
  }

  #endParagraph(): void {
    if (this.#code !== undefined || this.#inline.isEmpty) return
    if (this.#table === undefined) this.#addParagraph()
    else this.#inline.addBreak()
  }

  #addParagraph(): void {
    const lines = this.#inline
      .take()
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    const last = lines.length - 1
    if (last >= 0) this.#blocks.add(lines.map((line, at) => escapeLine(line) + (at === last ? '' : '\\')))
  }

  #endHeading(level: number): void {
    const text = this.#inline.take().replaceAll('\n', ' ')
    const section = this.#section
    this.#section = undefined
    if (text === '') return
    // A heading may end with number signs or attributes.
    const escaped = text.replace(/[#}]$/, String.raw`\$&`)
    const isNamed = section !== undefined && ANCHOR.test(section)
    this.#blocks.add([`${'#'.repeat(level)} ${escaped}${isNamed ? ` {#${section}}` : ''}`])
    if (level === 1) this.hasTitle = true
  }

  #beginCode(): void {
    // A cell has no room for it.
    this.#leaveTable()
    this.#code ??= ''
  }

  #endCode(open: Open): void {
    if (this.#code === undefined || this.#open.some(({ name }) => name === 'pre')) return
    const language = this.#language ?? open.language ?? ''
    this.#language = undefined
    const code = this.#code.replace(/^\r?\n/, '').trimEnd()
    this.#code = undefined
    if (code === '') return
    const fence = fenceFor(code)
    this.#blocks.add([fence + language, ...code.split(/\r?\n/), fence])
  }

  #beginTable(): void {
    this.#leaveTable()
    if (this.#code === undefined) this.#table = new Table()
  }

  #endCell({ name, span }: Open): void {
    if (this.#table === undefined) return this.#endParagraph()
    // Each cell is longer than its text.
    this.#take(' | '.repeat(Math.min(span, 100)))
    this.#table.addCell(this.#inline.take(), name === 'th', span)
  }

  #endTable(): void {
    const table = this.#table
    if (table === undefined) return this.#endParagraph()
    this.#table = undefined
    const lines = table.format()
    if (lines.length > 0) this.#blocks.add(lines)
    this.#addParagraph()
  }

  /** Writes the rest of a table as blocks, because of a cell with something that is not one line. */
  #leaveTable(): void {
    if (this.#table !== undefined) this.#endTable()
  }

  /** Returns the part of a text for which there is room. */
  #take(text: string): string {
    if (text.length > this.#room) this.#isCut = true
    const kept = text.slice(0, this.#room)
    this.#room -= kept.length
    return kept
  }
}

function languageOf(name: string, attributes: Attributes): string | undefined {
  if (!WITH_LANGUAGE.has(name)) return undefined
  const { class: classes = '', 'data-lang': data = '' } = attributes
  const named = LANGUAGE.exec(classes)?.[1] ?? /^[\w+#.-]{1,32}$/.exec(data)?.[0]
  return named === undefined || NO_LANGUAGE.has(named.toLowerCase()) ? undefined : named
}

function firstNumber({ start = '1' }: Attributes): number {
  const number = /^\d{1,9}$/.test(start) ? Number(start) : 1
  return Math.min(number, MAX_NUMBER)
}
