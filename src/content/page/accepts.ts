import type { Coding } from '../cache/object-cache.ts'

const CODINGS: readonly Coding[] = ['br', 'gzip']

/** Returns the codings that a client accepts, best first; brotli before gzip if both are equal. */
export function codingsOf(acceptEncoding: string | undefined): readonly Coding[] {
  if (acceptEncoding === undefined || acceptEncoding === '') return []
  const weights = weightsOf(acceptEncoding)
  const weightOf = (coding: Coding): number => weights.get(coding) ?? weights.get('*') ?? 0
  return CODINGS.filter((coding) => weightOf(coding) > 0).toSorted((a, b) => weightOf(b) - weightOf(a))
}

/**
 * Whether a client prefers Markdown to HTML: it names Markdown, with at least the weight of HTML. Browsers never do, and
 * a wildcard is not enough.
 */
export function prefersMarkdown(accept: string | undefined): boolean {
  // Nearly all requests end here.
  if (accept === undefined || !/text\/markdown/i.test(accept)) return false
  const weights = weightsOf(accept)
  const markdown = weights.get('text/markdown') ?? 0
  const html = weights.get('text/html') ?? weights.get('text/*') ?? weights.get('*/*') ?? 0
  return markdown > 0 && markdown >= html
}

/** Returns the weights of the names in a header such as Accept (RFC 9110, 12.4.2). */
function weightsOf(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim())
    const weight = parameters.find((each) => each.startsWith('q='))?.slice(2)
    weights.set(name, weight === undefined ? 1 : Number(weight))
  }
  return weights
}
