interface SparklineProps {
  readonly values: readonly (number | null)[]
  /** The value at full height, unless a larger one occurs. */
  readonly atLeast: number
  /** Number of values across the full width. */
  readonly capacity: number
  readonly label: string
}

const WIDTH = 72
const HEIGHT = 20

/** A line graph of recent values, newest on the right. */
export function Sparkline({ values, atLeast, capacity, label }: SparklineProps) {
  const top = Math.max(atLeast, ...values.map((value) => value ?? 0))
  const step = WIDTH / (capacity - 1)
  const left = WIDTH - (values.length - 1) * step
  const points = values.flatMap((value, index) => {
    if (value === null) return []
    const y = HEIGHT - 1 - (value / top) * (HEIGHT - 2)
    return [`${(left + index * step).toFixed(1)},${y.toFixed(1)}`]
  })
  const [first] = points
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {first !== undefined && (
        <>
          <polygon
            points={`${first.split(',')[0]},${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}`}
            class="area"
          />
          <polyline points={points.join(' ')} />
        </>
      )}
    </svg>
  )
}
