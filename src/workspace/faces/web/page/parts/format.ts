const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

/** Formats a size with at most three digits: `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(bytes))) / 10))
  const value = bytes / 1024 ** power
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power]}`
}

const AGES = [
  ['y', 365 * 24 * 3_600],
  ['d', 24 * 3_600],
  ['h', 3_600],
  ['m', 60],
] as const

const DURATIONS = AGES.slice(1)

/** Formats an age in its largest unit only: `3d`, `5m`. */
export function formatAge(since: string, nowMs: number): string {
  const seconds = Math.max(0, (nowMs - Date.parse(since)) / 1_000)
  const [unit, length] = AGES.find(([, each]) => seconds >= each) ?? ['s', 1]
  return `${Math.floor(seconds / length)}${unit}`
}

/** Formats seconds as a duration that the server accepts, in the largest exact unit: `90m`. */
export function formatDuration(seconds: number): string {
  const [unit, length] = DURATIONS.find(([, each]) => seconds >= each && seconds % each === 0) ?? ['s', 1]
  return `${seconds / length}${unit}`
}

/** Formats a time in the user's time zone and locale. */
export function formatTime(when: string): string {
  return new Date(when).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
}

/** Formats a time of day with seconds in the user's time zone and locale. */
export function formatTimeOfDay(when: string): string {
  return new Date(when).toLocaleTimeString(undefined, { timeStyle: 'medium' })
}

/** Formats a percentage; `–` if unknown. */
export function formatPercent(percent: number | null): string {
  return percent === null ? '–' : `${percent < 10 ? percent.toFixed(1) : Math.round(percent)}%`
}
