import { hierarchy, treemap } from 'd3-hierarchy'
import type { RefObject } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { WireDiskReport } from '../../../../api/disk.ts'
import { Card } from '../parts/card.tsx'
import { formatBytes } from '../parts/format.ts'
import { texts } from '../texts.ts'
import { type DiskPart, diskParts, type PartKind } from './disk-parts.ts'

const HEIGHT = 320
/** Average width of a character, in pixels. */
const LETTER_WIDTH = 7.2
/** An area that fits fewer characters has no label. */
const MIN_LETTERS = 4
const LINE_HEIGHT = 30
const KINDS: readonly PartKind[] = ['image', 'workspace', 'snapshot', 'orphan']
const MEASURES = ['physicalBytes', 'logicalBytes'] as const
type Measure = (typeof MEASURES)[number]

interface Branch {
  readonly part?: DiskPart
  readonly children?: readonly Branch[]
}

/** Disk usage as a treemap and as a table. */
export function DiskMap({ report }: { readonly report: WireDiskReport }) {
  const [measure, setMeasure] = useState<Measure>('physicalBytes')
  const parts = useMemo(() => diskParts(report), [report])
  const [map, mapWidth] = useWidth<SVGSVGElement>()
  const leaves = useMemo(() => layOut(parts, measure, mapWidth), [parts, measure, mapWidth])
  const labels = texts.disk
  return (
    <Card
      title={labels.map}
      name="map"
      isWide
      actions={
        <select
          aria-label={labels.measureBy}
          value={measure}
          onChange={(event) => setMeasure(event.currentTarget.value as Measure)}
        >
          {MEASURES.map((each) => (
            <option key={each} value={each}>
              {labels[each]}
            </option>
          ))}
        </select>
      }
    >
      <ul class="legend">
        {KINDS.map((kind) => (
          <li key={kind} class={kind}>
            {labels.kinds[kind]}
          </li>
        ))}
      </ul>
      <svg ref={map} class="map" height={HEIGHT} role="img" aria-label={labels.mapLabel}>
        {leaves.map(({ part, x, y, width, height }) => (
          <g key={`${part.kind} ${part.name}`} class={part.kind}>
            <rect x={x} y={y} width={width} height={height} rx={2}>
              <title>{`${part.name}\n${formatBytes(part[measure])}`}</title>
            </rect>
            <AreaName name={part.name} size={formatBytes(part[measure])} {...{ x, y, width, height }} />
          </g>
        ))}
      </svg>
      <details>
        <summary>{labels.asTable}</summary>
        <PartTable parts={parts} measure={measure} />
      </details>
    </Card>
  )
}

interface Area {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

function AreaName({
  name,
  size,
  x,
  y,
  width,
  height,
}: Area & { readonly name: string; readonly size: string }) {
  const letters = Math.floor((width - 10) / LETTER_WIDTH)
  if (letters < MIN_LETTERS || height < LINE_HEIGHT / 1.5) return null
  return (
    <text x={x + 6} y={y + 15} aria-hidden="true">
      {name.length > letters ? `${name.slice(0, letters - 1)}…` : name}
      {height >= LINE_HEIGHT + 8 && size.length <= letters && (
        <tspan x={x + 6} dy="15" class="size">
          {size}
        </tspan>
      )}
    </text>
  )
}

function PartTable({ parts, measure }: { readonly parts: readonly DiskPart[]; readonly measure: Measure }) {
  const labels = texts.disk
  return (
    <table class="figures">
      <thead>
        <tr>
          <th scope="col">{labels.name}</th>
          <th scope="col">{labels.kind}</th>
          <th scope="col">{labels.logical}</th>
          <th scope="col">{labels.physical}</th>
        </tr>
      </thead>
      <tbody>
        {parts
          .toSorted((a, b) => b[measure] - a[measure])
          .map(({ kind, name, logicalBytes, physicalBytes }) => (
            <tr key={`${kind} ${name}`}>
              <th scope="row">{name}</th>
              <td>{labels.kindsOfOne[kind]}</td>
              <td>{formatBytes(logicalBytes)}</td>
              <td>{formatBytes(physicalBytes)}</td>
            </tr>
          ))}
      </tbody>
    </table>
  )
}

function layOut(
  parts: readonly DiskPart[],
  measure: Measure,
  width: number,
): readonly (Area & { readonly part: DiskPart })[] {
  const largestFirst = parts.toSorted((a, b) => b[measure] - a[measure])
  const branches = KINDS.map((kind) => ({
    children: largestFirst.filter((part) => part.kind === kind).map((part) => ({ part })),
  }))
  const root = hierarchy<Branch>({ children: branches }).sum(({ part }) => part?.[measure] ?? 0)
  const laidOut = treemap<Branch>().size([width, HEIGHT]).paddingInner(2).round(true)(root)
  return laidOut
    .leaves()
    .flatMap(({ data: { part }, x0, y0, x1, y1 }) =>
      part === undefined || x1 <= x0 || y1 <= y0
        ? []
        : [{ part, x: x0, y: y0, width: x1 - x0, height: y1 - y0 }],
    )
}

/** Returns an element's current width in pixels, so that labels keep their size. */
function useWidth<T extends Element>(): readonly [RefObject<T | null>, number] {
  const element = useRef<T>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    if (element.current !== null) observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}
