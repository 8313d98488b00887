/** Formats labels as `KEY=VALUE`. */
export function formatLabels(labels: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`)
}
