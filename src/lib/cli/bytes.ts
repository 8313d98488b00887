const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** Formats a size for people: three digits and a unit, `1.25 GiB`; bytes are whole. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  // Rounds first: 1023.9 KiB is 1 MiB.
  while (Math.round(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit === 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0
  return `${value.toFixed(digits)} ${UNITS[unit]}`
}
