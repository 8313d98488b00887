/** A list, an item of one, or a quote. */
type Container =
  | { readonly is: 'list'; number: number | undefined }
  /** An item whose marker precedes its first line. */
  | { readonly is: 'item'; marker: string | undefined; readonly indent: string }
  | { readonly is: 'quote' }

/** Deeper lists and quotes are not indented further. */
const MAX_CONTAINERS = 20

/** Blocks of Markdown text inside lists and quotes, up to a maximum length. */
export class Blocks {
  readonly #maxLength: number
  readonly #parts: string[] = []
  #length = 0
  #containers: readonly Container[] = []
  /** Containers of the last block. */
  #last: readonly Container[] = []
  isCut = false

  constructor(maxLength: number) {
    this.#maxLength = maxLength
  }

  get text(): string {
    return this.#parts.join('')
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0
  }

  /** The open containers, to return to with `close`. */
  get open(): readonly Container[] {
    return this.#containers
  }

  close(open: readonly Container[]): void {
    this.#containers = open
  }

  /** @param first number of the first item; undefined if items have no numbers */
  openList(first: number | undefined): void {
    this.#push({ is: 'list', number: first })
  }

  openQuote(): void {
    this.#push({ is: 'quote' })
  }

  /** Begins an item of the innermost list, after closing what is open in that list. */
  openItem(): void {
    const at = this.#containers.findLastIndex(({ is }) => is === 'list')
    if (at !== -1) this.#containers = this.#containers.slice(0, at + 1)
    const list = this.#containers[at]
    const number = list?.is === 'list' ? list.number : undefined
    if (list?.is === 'list' && number !== undefined) list.number = number + 1
    const marker = number === undefined ? '- ' : `${number}. `
    this.#push({ is: 'item', marker, indent: ' '.repeat(marker.length) })
  }

  /** Adds a block with its lines. */
  add(lines: readonly string[]): void {
    const begun = this.#containers.findIndex((each) => each.is === 'item' && each.marker !== undefined)
    const separator = this.isEmpty ? '' : this.#isTight(begun) ? '\n' : `\n${this.#blankLine()}\n`
    const rest = this.#containers.map(prefixOf).join('')
    const first = this.#containers
      .map((each) => (each.is === 'item' && each.marker) || prefixOf(each))
      .join('')
    const text = lines
      .map((line, at) => (at === 0 ? first : rest) + line)
      .map((line, at) => (lines[at] === '' ? line.trimEnd() : line))
      .join('\n')
    if (this.#length + separator.length + text.length > this.#maxLength) {
      this.isCut = true
      return
    }
    this.#parts.push(separator, text)
    this.#length += separator.length + text.length
    for (const each of this.#containers) if (each.is === 'item') each.marker = undefined
    this.#last = this.#containers
  }

  /** Whether a block begins an item that follows another one or the text of the item around its list. */
  #isTight(begun: number): boolean {
    const [outer, list] = [this.#containers[begun - 2], this.#containers[begun - 1]]
    if (list?.is !== 'list') return false
    return this.#last.includes(list) || (outer?.is === 'item' && this.#last.includes(outer))
  }

  /** Returns an empty line inside the containers of both the last block and the next. */
  #blankLine(): string {
    const shared = this.#containers.filter((each) => this.#last.includes(each))
    return shared.map(prefixOf).join('').trimEnd()
  }

  #push(container: Container): void {
    if (this.#containers.length < MAX_CONTAINERS) this.#containers = [...this.#containers, container]
  }
}

function prefixOf(container: Container): string {
  if (container.is === 'list') return ''
  return container.is === 'quote' ? '> ' : container.indent
}
