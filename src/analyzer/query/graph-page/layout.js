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

const CELL = { width: 150, height: 26, gap: 6 }
const sizeOf = (pack) => {
  const folded = { width: Math.min(320, 70 + 7.2 * packageName(pack).length), height: 34, columns: 0 }
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
    (sum, _, pack) => sum + (sizeOf(pack).width + 28) * (sizeOf(pack).height + 48),
    0,
  )
  const widest = Math.max(900, Math.sqrt(total) * 1.3)
  let top = 0
  Object.assign(drawn, { width: 0, height: 0 })
  for (const [, packs] of [...rows].toSorted(([a], [b]) => a - b)) {
    let left = 0
    let tallest = 0
    for (const pack of packs) {
      const { width, height, columns } = sizeOf(pack)
      if (left > 0 && left + width > widest) {
        top += tallest + 28
        left = 0
        tallest = 0
      }
      places.set(pack, { left, top, width, height })
      for (const [i, node] of (columns > 0 ? members[pack] : []).entries())
        places.set(boxOf(node), {
          left: left + CELL.gap + (i % columns) * (CELL.width + CELL.gap),
          top: top + 42 + Math.floor(i / columns) * (CELL.height + CELL.gap),
          width: CELL.width,
          height: CELL.height,
        })
      left += width + 28
      tallest = Math.max(tallest, height)
      drawn.width = Math.max(drawn.width, left)
    }
    top += tallest + 64
    drawn.height = top
  }
}
