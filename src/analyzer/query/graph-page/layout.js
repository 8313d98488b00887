import { boxOf, classes, edges, members, opened, packageName, packages } from './model.js'

/** Box to its place. */
export const places = new Map()
/** How large the whole is. */
export const drawn = { width: 0, height: 0 }

// ---- Where things stand: packages in rows, those that need others above those that are needed.
const rowOf = (() => {
  const needs = packages.map(() => new Set())
  for (const [source, target] of edges) {
    const [from, to] = [classes[source][1], classes[target][1]]
    if (from !== to) needs[from].add(to)
  }
  const rows = packages.map(() => -1)
  const open = new Set()
  // Depth first; what leads back into the path belongs to a cycle and does not count.
  const visit = (first) => {
    const path = [[first, [...needs[first]], 0]]
    open.add(first)
    while (path.length > 0) {
      const frame = path.at(-1)
      const next = frame[1].pop()
      if (next === undefined) {
        path.pop()
        open.delete(frame[0])
        rows[frame[0]] = frame[2]
        const above = path.at(-1)
        if (above) above[2] = Math.max(above[2], frame[2] + 1)
      } else if (rows[next] >= 0) frame[2] = Math.max(frame[2], rows[next] + 1)
      else if (!open.has(next)) {
        open.add(next)
        path.push([next, [...needs[next]], 0])
      }
    }
  }
  for (const pack of packages.keys()) if (rows[pack] < 0) visit(pack)
  const top = Math.max(0, ...rows)
  return rows.map((row) => top - row)
})()

/** Between boxes; twice as much between rows. */
const SPACE = 32
const CELL = { width: 150, height: 26, gap: 6 }
/** As wide as its text is, which differs from machine to machine. */
const widthOf = (() => {
  const text = document.createElement('canvas').getContext('2d')
  const { fontFamily } = getComputedStyle(document.body)
  text.font = `600 14px ${fontFamily}`
  const widths = packages.map((_, pack) =>
    Math.ceil(text.measureText(`▸ ${packageName(pack)}  ${members[pack].length}`).width + 26),
  )
  return (pack) => widths[pack]
})()

const sizeOf = (pack) => {
  const folded = { width: widthOf(pack), height: 34, columns: 0 }
  if (!opened.has(pack)) return folded
  const columns = Math.max(1, Math.min(8, Math.round(Math.sqrt(members[pack].length / 3)) + 1))
  const lines = Math.ceil(members[pack].length / columns)
  return {
    columns,
    width: Math.max(folded.width + 16, columns * (CELL.width + CELL.gap) + CELL.gap + 4),
    height: 46 + lines * (CELL.height + CELL.gap),
  }
}

export const arrange = () => {
  places.clear()
  const rows = new Map()
  for (const pack of packages.keys()) rows.set(rowOf[pack], [...(rows.get(rowOf[pack]) ?? []), pack])
  const total = packages.reduce(
    (sum, _, pack) => sum + (sizeOf(pack).width + SPACE) * (sizeOf(pack).height + 2 * SPACE),
    0,
  )
  const widest = Math.max(900, Math.sqrt(total) * 1.3)
  const lines = []
  for (const [row, packs] of [...rows].toSorted(([a], [b]) => a - b)) {
    for (const pack of packs) {
      const size = sizeOf(pack)
      const last = lines.at(-1)
      if (last?.row === row && last.width + size.width <= widest) add(last, pack, size)
      else lines.push(add({ row, packs: [], width: -SPACE, height: 0 }, pack, size))
    }
  }
  drawn.width = Math.max(0, ...lines.map(({ width }) => width))
  drawn.height = 0
  for (const [place, line] of lines.entries()) {
    if (place > 0) drawn.height += line.row === lines[place - 1].row ? SPACE : 2 * SPACE
    let left = (drawn.width - line.width) / 2
    for (const [pack, size] of line.packs) {
      put(pack, size, left, drawn.height)
      left += size.width + SPACE
    }
    drawn.height += line.height
  }
}

const add = (line, pack, size) => {
  line.packs.push([pack, size])
  line.width += size.width + SPACE
  line.height = Math.max(line.height, size.height)
  return line
}

const put = (pack, { width, height, columns }, left, top) => {
  places.set(pack, { left, top, width, height })
  for (const [i, node] of (columns > 0 ? members[pack] : []).entries())
    places.set(boxOf(node), {
      left: left + CELL.gap + (i % columns) * (CELL.width + CELL.gap),
      top: top + 42 + Math.floor(i / columns) * (CELL.height + CELL.gap),
      width: CELL.width,
      height: CELL.height,
    })
}
