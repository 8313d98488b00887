/** Elements whose text is not part of a page's content. */
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
  'textarea',
  'iframe',
  'form',
])
const SILENT_ROLES = new Set(['navigation', 'search', 'dialog', 'banner', 'contentinfo', 'complementary'])
/** If one exists, text outside it surrounds every page and is ignored. */
const MAIN = new Set(['main', 'article'])
const HEADING = /^h[1-6]$/

/** Attributes of an element by name. */
export type Attributes = Readonly<Record<string, string>>

/** Properties of an element by its name or role, inherited by the elements inside. */
export interface PageElement {
  readonly name: string
  /** Whether it is not part of the content, such as navigation. */
  readonly isSilent: boolean
  /** Whether it is in the main part of the page. */
  readonly isMain: boolean
  readonly id: string | undefined
  /** Id of the section that begins here. */
  readonly section: string | undefined
}

const OUTSIDE = { isSilent: false, isMain: false, id: undefined }

/** The open elements of an HTML page, of which it decides what is content and where sections begin. */
export class PageElements {
  readonly #open: PageElement[] = []
  /** Inside a heading without id; an anchor in the heading may have one. */
  #isUnnamed = false

  get depth(): number {
    return this.#open.length
  }

  /** The innermost open element. */
  get innermost(): PageElement | undefined {
    return this.#open.at(-1)
  }

  open(name: string, { role = '', id, name: anchor }: Attributes): PageElement {
    const around = this.innermost ?? OUTSIDE
    const element = {
      name,
      isSilent: around.isSilent || SILENT.has(name) || SILENT_ROLES.has(role),
      isMain: around.isMain || MAIN.has(name) || role === 'main',
      id,
      section: this.#sectionAt(name, id, anchor),
    }
    this.#open.push(element)
    return element
  }

  /** Closes the innermost element. */
  close(): PageElement | undefined {
    const element = this.#open.pop()
    if (element !== undefined && isHeading(element.name)) this.#isUnnamed = false
    return element
  }

  #sectionAt(name: string, id: string | undefined, anchor: string | undefined): string | undefined {
    if (isHeading(name)) {
      // Some generators put the id on the section around a heading.
      const named = id ?? this.innermost?.id
      this.#isUnnamed = named === undefined
      return named
    }
    const named = id ?? anchor
    if (!this.#isUnnamed || name !== 'a' || named === undefined) return undefined
    this.#isUnnamed = false
    return named
  }
}

/** Whether an element is a heading. */
export function isHeading(name: string): boolean {
  return HEADING.test(name)
}
