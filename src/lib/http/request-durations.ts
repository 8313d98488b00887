const NAME = 'http_request_duration_seconds'
/** Upper bounds in milliseconds; a last bucket is for all longer requests. */
const BOUNDS_MS = [1, 5, 20, 100, 500, 2_000, 10_000, 60_000] as const

interface Series {
  readonly labels: string
  /** Requests by the bucket that their duration is in. */
  readonly counts: number[]
  sumMs: number
}

/**
 * Histogram of the durations of requests by method, route and status, in Prometheus' format. prom-client's takes a
 * tenth of the time of a small response, because it finds a series by the text of its labels.
 */
export class RequestDurations {
  readonly #series = new Map<string, Map<number, Map<string, Series>>>()

  /** Counts a request. @param route route, not path, which is unbounded */
  count(method: string, route: string, status: number, durationMs: number): void {
    const series = this.#find(method, route, status)
    let bucket = 0
    while (bucket < BOUNDS_MS.length && durationMs > (BOUNDS_MS[bucket] ?? 0)) bucket++
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
    series.sumMs += durationMs
  }

  /** Returns the metric as text. */
  toText(): string {
    const all = [...this.#series.values()].flatMap((byStatus) =>
      [...byStatus.values()].flatMap((byMethod) => [...byMethod.values()]),
    )
    return [
      `# HELP ${NAME} Time from a request to the end of its response`,
      `# TYPE ${NAME} histogram`,
      ...all.flatMap(linesOf),
      '',
    ].join('\n')
  }

  #find(method: string, route: string, status: number): Series {
    let byStatus = this.#series.get(route)
    if (byStatus === undefined) this.#series.set(route, (byStatus = new Map()))
    let byMethod = byStatus.get(status)
    if (byMethod === undefined) byStatus.set(status, (byMethod = new Map()))
    let series = byMethod.get(method)
    if (series === undefined) {
      const labels = `method="${escape(method)}",route="${escape(route)}",status="${status}"`
      series = { labels, counts: [0, ...BOUNDS_MS].map(() => 0), sumMs: 0 }
      byMethod.set(method, series)
    }
    return series
  }
}

function linesOf({ labels, counts, sumMs }: Series): readonly string[] {
  let total = 0
  const buckets = counts.map((count, at) => {
    total += count
    const bound = BOUNDS_MS[at]
    const le = bound === undefined ? '+Inf' : String(bound / 1000)
    return `${NAME}_bucket{le="${le}",${labels}} ${total}`
  })
  return [...buckets, `${NAME}_sum{${labels}} ${sumMs / 1000}`, `${NAME}_count{${labels}} ${total}`]
}

function escape(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
