const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/
const PART = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g

/** Parses a duration such as `72h`, `1h30m`, `0s`, `250ms` or `2d` to milliseconds; undefined if it is invalid. */
export function parseDuration(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined
  let totalMs = 0
  for (const [, amount, unit] of text.matchAll(PART)) totalMs += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0)
  return Number.isSafeInteger(Math.round(totalMs)) ? Math.round(totalMs) : undefined
}
