import { codeSpan, escapeText, linkTo } from './escape.ts'

/** A part of a paragraph with a format: its end adds the format, unless it is empty. */
interface Frame {
  readonly format: (text: string) => string
  /** Name of the format; one is not begun inside itself. */
  readonly name: string
  /** Formatted text, except for code; joined at the end, because it grows by small parts. */
  readonly parts: string[]
}

const MARKS: Readonly<Record<string, string>> = {
  b: '**',
  strong: '**',
  em: '*',
  i: '*',
  del: '~~',
  s: '~~',
  strike: '~~',
}
const CODE = new Set(['code', 'kbd', 'samp', 'tt'])

/** The text of one block, formatted as Markdown. A line break in it is a hard one. */
export class Inline {
  #frames: Frame[] = [frameOf('text', (text) => text)]
  /** Text that is not escaped yet: characters may mean something only together. */
  #raw = ''
  #endsWithSpace = true

  /** Whether there is no text, although formats may have begun. */
  get isEmpty(): boolean {
    return this.#raw === '' && this.#frames.every(({ parts }) => parts.length === 0)
  }

  /** Adds text with single spaces. */
  add(text: string): void {
    const spaced = text.replace(/\s+/g, ' ')
    const added = this.#endsWithSpace ? spaced.replace(/^ /, '') : spaced
    if (added === '') return
    this.#raw += added
    this.#endsWithSpace = added.endsWith(' ')
  }

  addBreak(): void {
    if (this.#isInCode) return this.add(' ')
    this.#append('\n')
    this.#endsWithSpace = true
  }

  /** @param base address of the page's `base` element */
  addImage(alt: string, source: string, base: string | undefined): void {
    const address = linkTo(source, base)
    if (this.#isInCode || address === undefined || address === '') return this.add(alt)
    this.#append(`![${escapeText(alt.replace(/\s+/g, ' ').trim())}](${address})`)
    this.#endsWithSpace = false
  }

  /** Begins the format of an element; undefined if it has none. @param base address of the page's `base` element */
  open(name: string, { href }: { readonly href?: string }, base: string | undefined): Frame | undefined {
    const frame = CODE.has(name)
      ? frameOf('code', codeSpan)
      : name === 'a'
        ? linkFrame(href, base)
        : markFrame(MARKS[name])
    if (frame === undefined || this.#isInCode || this.#frames.some((each) => each.name === frame.name))
      return undefined
    this.#flush()
    this.#frames.push(frame)
    return frame
  }

  /** Ends a format, and those inside. */
  close(frame: Frame): void {
    const at = this.#frames.indexOf(frame)
    if (at === -1) return
    while (this.#frames.length > at) this.#endFrame()
  }

  /** Returns the text and begins another one. */
  take(): string {
    while (this.#frames.length > 1) this.#endFrame()
    this.#flush()
    const text = this.#frames[0]?.parts.join('') ?? ''
    this.#frames = [frameOf('text', (each) => each)]
    this.#endsWithSpace = true
    return text.trim()
  }

  get #isInCode(): boolean {
    return this.#frames.at(-1)?.name === 'code'
  }

  #endFrame(): void {
    this.#flush()
    const frame = this.#frames.pop()
    if (frame === undefined) return
    const text = frame.parts.join('')
    const core = text.trim()
    if (core === '') return this.#append(text)
    const at = text.indexOf(core)
    const formatted = frame.format(core)
    if (formatted.startsWith('[')) this.#escapeMark()
    this.#append(text.slice(0, at) + formatted + text.slice(at + core.length))
  }

  /** Escapes an exclamation mark that together with a link would be an image. */
  #escapeMark(): void {
    const parts = this.#frames.at(-1)?.parts ?? []
    const last = parts.pop() ?? ''
    if (last !== '') parts.push(last.endsWith('!') ? `${last.slice(0, -1)}\\!` : last)
  }

  #flush(): void {
    const raw = this.#raw
    this.#raw = ''
    if (raw !== '') this.#append(this.#isInCode ? raw : escapeText(raw))
  }

  #append(text: string): void {
    if (this.#raw !== '') this.#flush()
    if (text !== '') this.#frames.at(-1)?.parts.push(text)
  }
}

function frameOf(name: string, format: Frame['format']): Frame {
  return { name, format, parts: [] }
}

function markFrame(mark: string | undefined): Frame | undefined {
  return mark === undefined ? undefined : frameOf(mark, (text) => `${mark}${text}${mark}`)
}

function linkFrame(href: string | undefined, base: string | undefined): Frame | undefined {
  const address = href === undefined ? undefined : linkTo(href, base)
  if (address === undefined || address === '') return undefined
  return frameOf('link', (text) => {
    // Generators add a link such as "#" to each heading.
    if (address.startsWith('#') && !/[\p{L}\p{N}]/u.test(text)) return ''
    return `[${text.replaceAll('\n', ' ')}](${address})`
  })
}
