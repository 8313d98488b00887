const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** A duration in its largest unit, rounded down, as in a sentence: `3h`. Days begin at four: people say 72h. */
export function shortDuration(ms: number): string {
  for (const [unit, unitMs] of UNITS)
    if (ms >= (unit === 'd' ? 4 * unitMs : unitMs)) return `${Math.floor(ms / unitMs)}${unit}`
  return '0s'
}

/** A duration as Go writes it: `72h0m0s`. */
export function goDuration(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return h > 0 ? `${h}h${m}m${s}s` : m > 0 ? `${m}m${s}s` : `${s}s`
}
