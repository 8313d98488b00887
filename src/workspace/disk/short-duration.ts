const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/**
 * Formats a duration for a sentence, in its largest unit and rounded down: `3h`. Days are used from four on:
 * people say 72h.
 */
export function shortDuration(ms: number): string {
  for (const [unit, unitMs] of UNITS)
    if (ms >= (unit === 'd' ? 4 * unitMs : unitMs)) return `${Math.floor(ms / unitMs)}${unit}`
  return '0s'
}

/** Formats a duration like Go: `72h0m0s`. */
export function goDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return h > 0 ? `${h}h${m}m${s}s` : m > 0 ? `${m}m${s}s` : `${s}s`
}
