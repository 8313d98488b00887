import type { Coding } from '../cache/object-cache.ts'

const CODINGS: readonly Coding[] = ['br', 'gzip']

/** Returns the codings that a client accepts, best first; brotli before gzip if both are equal. */
export function codingsOf(acceptEncoding: string | undefined): readonly Coding[] {
  if (acceptEncoding === undefined || acceptEncoding === '') return []
  const weights = new Map<string, number>()
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim())
    const weight = parameters.find((each) => each.startsWith('q='))?.slice(2)
    weights.set(name, weight === undefined ? 1 : Number(weight))
  }
  const weightOf = (coding: Coding): number => weights.get(coding) ?? weights.get('*') ?? 0
  return CODINGS.filter((coding) => weightOf(coding) > 0).toSorted((a, b) => weightOf(b) - weightOf(a))
}
