/** Formats an uptime in seconds with its two largest units: `1d 2h`, `3m 4s`. */
export function formatUptime(seconds: number): string {
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'm'],
    [1, 's'],
  ] as const
  const parts: string[] = []
  let rest = seconds
  for (const [size, unit] of units) {
    const amount = Math.floor(rest / size)
    rest -= amount * size
    if (amount > 0 || (unit === 's' && parts.length === 0)) parts.push(`${amount}${unit}`)
  }
  return parts.slice(0, 2).join(' ')
}
