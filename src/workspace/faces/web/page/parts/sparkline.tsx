interface SparklineProps {
  readonly values: readonly (number | null)[]
  /** What the graph's full height stands for, unless a value is above it. */
  readonly atLeast: number
  /** How many values its full width has room for. */
  readonly room: number
  readonly label: string
}

const WIDTH = 72
const HEIGHT = 20

/** The last values as a line, the newest at the right end. */
export function Sparkline({ values, atLeast, room, label }: SparklineProps) {
  const top = Math.max(atLeast, ...values.map((value) => value ?? 0))
  const step = WIDTH / (room - 1)
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
