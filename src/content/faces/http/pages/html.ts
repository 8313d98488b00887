import { escapeMarkup } from '../../../../lib/markup/escape.ts'

/** HTML that is sent without escaping. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | undefined | readonly Html[]

/** A template that escapes its parts, unless they are `Html`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, at) => text + show(parts[at - 1]) + string))
}

function show(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(({ text }) => text).join('')
  return escapeMarkup(String(part))
}
