import { boxOf, edges, membersOf, opened, packageName, packageOf, packages } from './model.ts'

/** A rectangle on the canvas. */
export interface Rectangle {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** Rectangles of the shown boxes. */
export const rectangles = new Map<number, Rectangle>()
/** Size of the whole drawing. */
export const drawn = { width: 0, height: 0 }

/** Rows of packages: dependents above their dependencies. */
const rows = rowsOf(packageDependencies())

function packageDependencies(): readonly ReadonlySet<number>[] {
  const needs = packages.map(() => new Set<number>())
  for (const [source, target] of edges) {
    const [from, to] = [packageOf(source), packageOf(target)]
    if (from !== to) needs[from]?.add(to)
  }
  return needs
}

function rowsOf(needs: readonly ReadonlySet<number>[]): readonly number[] {
  /** Number of rows below each package; -1 if unknown. */
  const below = packages.map(() => -1)
  const open = new Set<number>()
  const frameOf = (pack: number) => ({ pack, left: [...(needs[pack] ?? [])], rows: 0 })
  // Depth first; an edge back into the path belongs to a cycle and is ignored.
  const visit = (first: number): void => {
    const path = [frameOf(first)]
    open.add(first)
    for (let frame = path.at(-1); frame !== undefined; frame = path.at(-1)) {
      const next = frame.left.pop()
      const known = next === undefined ? -1 : (below[next] ?? -1)
      if (next === undefined) {
        path.pop()
        open.delete(frame.pack)
        below[frame.pack] = frame.rows
        const above = path.at(-1)
        if (above !== undefined) above.rows = Math.max(above.rows, frame.rows + 1)
      } else if (known >= 0) frame.rows = Math.max(frame.rows, known + 1)
      else if (!open.has(next)) {
        open.add(next)
        path.push(frameOf(next))
      }
    }
  }
  for (const pack of packages.keys()) if (below[pack] === -1) visit(pack)
  const top = Math.max(0, ...below)
  return below.map((row) => top - row)
}

/** Space between boxes; doubled between rows. */
const SPACE = 32
const CELL = { width: 150, height: 26, gap: 6 }

/** Width of a package's text, which differs between machines. */
const widths = textWidths()

function textWidths(): readonly number[] {
  const text = document.createElement('canvas').getContext('2d')
  if (text === null) throw new Error('this browser cannot draw text')
  const { fontFamily } = getComputedStyle(document.body)
  text.font = `600 14px ${fontFamily}`
  return packages.map((_, pack) =>
    Math.ceil(text.measureText(`▸ ${packageName(pack)}  ${membersOf(pack).length}`).width + 26),
  )
}

interface Size {
  readonly width: number
  readonly height: number
  /** Columns of classes; 0 if collapsed. */
  readonly columns: number
}

function sizeOf(pack: number): Size {
  const folded = { width: widths[pack] ?? 0, height: 34, columns: 0 }
  if (!opened.has(pack)) return folded
  const { length } = membersOf(pack)
  const columns = Math.max(1, Math.min(8, Math.round(Math.sqrt(length / 3)) + 1))
  const lines = Math.ceil(length / columns)
  return {
    columns,
    width: Math.max(folded.width + 16, columns * (CELL.width + CELL.gap) + CELL.gap + 4),
    height: 46 + lines * (CELL.height + CELL.gap),
  }
}

/** Packages side by side; a row may take several lines. */
interface Line {
  readonly row: number
  readonly packs: [pack: number, size: Size][]
  width: number
  height: number
}

/** Computes the rectangle of every shown box. */
export function arrange(): void {
  rectangles.clear()
  const lines = arrangeLines()
  drawn.width = Math.max(0, ...lines.map(({ width }) => width))
  drawn.height = 0
  for (const [rectangle, line] of lines.entries()) {
    if (rectangle > 0) drawn.height += line.row === lines[rectangle - 1]?.row ? SPACE : 2 * SPACE
    let left = (drawn.width - line.width) / 2
    for (const [pack, size] of line.packs) {
      put(pack, size, left, drawn.height)
      left += size.width + SPACE
    }
    drawn.height += line.height
  }
}

function arrangeLines(): readonly Line[] {
  const packsOf = new Map<number, readonly number[]>()
  for (const [pack, row] of rows.entries()) packsOf.set(row, [...(packsOf.get(row) ?? []), pack])
  const total = packages.reduce(
    (sum, _, pack) => sum + (sizeOf(pack).width + SPACE) * (sizeOf(pack).height + 2 * SPACE),
    0,
  )
  const widest = Math.max(900, Math.sqrt(total) * 1.3)
  const lines: Line[] = []
  for (const [row, packs] of [...packsOf].toSorted(([a], [b]) => a - b)) {
    for (const pack of packs) {
      const size = sizeOf(pack)
      let line = lines.at(-1)
      if (line?.row !== row || line.width + size.width > widest) {
        line = { row, packs: [], width: -SPACE, height: 0 }
        lines.push(line)
      }
      line.packs.push([pack, size])
      line.width += size.width + SPACE
      line.height = Math.max(line.height, size.height)
    }
  }
  return lines
}

function put(pack: number, { width, height, columns }: Size, left: number, top: number): void {
  rectangles.set(pack, { left, top, width, height })
  for (const [i, node] of (columns > 0 ? membersOf(pack) : []).entries())
    rectangles.set(boxOf(node), {
      left: left + CELL.gap + (i % columns) * (CELL.width + CELL.gap),
      top: top + 42 + Math.floor(i / columns) * (CELL.height + CELL.gap),
      width: CELL.width,
      height: CELL.height,
    })
}
