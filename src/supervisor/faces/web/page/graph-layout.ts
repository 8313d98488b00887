/** An edge of the graph of dependencies. */
export interface GraphEdge {
  readonly from: string
  readonly to: string
}

/** A point of the drawing, in pixels. */
export interface Point {
  readonly x: number
  readonly y: number
}

/** Positions of a graph: the left edge and the middle of each box, and the way of each edge from box to box with its label's middle. */
export interface GraphLayout<Edge> {
  readonly width: number
  readonly height: number
  readonly boxes: ReadonlyMap<string, Point>
  readonly ways: readonly { readonly edge: Edge; readonly points: readonly Point[]; readonly label: Point }[]
}

/** Size of a box, and the space between columns, in which the labels of edges are. */
export const BOX = { width: 176, height: 46, gap: 14, space: 104 }
/** Height of an edge's label. */
export const LABEL_HEIGHT = 14
/** Positions of a label along a curve between two columns: at a half, a quarter and three quarters of its height. */
const LABEL_AT = [0.5, 0.326, 0.674]
const PASSES = 4

/** A box, or a bend of an edge that passes a column. */
interface Place {
  readonly name: string | undefined
  readonly column: number
  readonly before: Place[]
  readonly after: Place[]
  row: number
}

/**
 * Arranges a graph without cycles in columns, each box to the right of all that point to it. Rows are sorted by the mean of their
 * neighbors' rows, so that few edges cross. Source: Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of Hierarchical
 * System Structures", 1981.
 */
export function layOut<Edge extends GraphEdge>(edges: readonly Edge[]): GraphLayout<Edge> {
  const places = placesOf(edges)
  const routes = edges.map((edge) => ({ edge, route: routeOf(edge, places) }))
  const all = new Set([...places.values(), ...routes.flatMap(({ route }) => route)])
  const columns = [...Map.groupBy(all, ({ column }) => column)]
    .toSorted(([a], [b]) => a - b)
    .map(([, column]) => column)
  sortRows(columns)
  const rows = Math.max(0, ...columns.map(({ length }) => length))
  const step = BOX.height + BOX.gap
  const pointOf = ({ column, row }: Place): Point => ({
    x: column * (BOX.width + BOX.space),
    y: BOX.height / 2 + step * (row + (rows - (columns[column]?.length ?? 0)) / 2),
  })
  const ways = routes.map(({ edge, route }) => ({
    edge,
    points: route.flatMap((place, at) => {
      const { x, y } = pointOf(place)
      // An edge leaves its first box at the right, and passes other columns straight.
      return [...(at === 0 ? [] : [{ x, y }]), ...(at === route.length - 1 ? [] : [{ x: x + BOX.width, y }])]
    }),
  }))
  const labels: Point[] = []
  return {
    width: Math.max(0, columns.length * (BOX.width + BOX.space) - BOX.space),
    height: Math.max(0, rows * step - BOX.gap),
    boxes: new Map([...places].map(([name, place]) => [name, pointOf(place)])),
    ways: ways.map((way) => {
      const label = labelOf(way.points, labels)
      labels.push(label)
      return { ...way, label }
    }),
  }
}

/** Returns the position of an edge's label: where the edge passes a column, which is its own, or else beside other labels. */
function labelOf(points: readonly Point[], others: readonly Point[]): Point {
  const [start = { x: 0, y: 0 }, next = start, bend] = points
  if (bend !== undefined) return { x: (next.x + bend.x) / 2, y: next.y }
  const wanted = LABEL_AT.map((at) => pointOn(start, next, at))
  const isFree = ({ x, y }: Point): boolean =>
    others.every((other) => Math.abs(other.x - x) > BOX.space || Math.abs(other.y - y) >= LABEL_HEIGHT)
  return wanted.find(isFree) ?? pointOn(start, next, 0.5)
}

/** Returns a point of the curve between two columns, whose control points are in the middle between them. */
function pointOn(start: Point, end: Point, at: number): Point {
  const share = at * at * (3 - 2 * at)
  const x = 1.5 * at * (1 - at) + at ** 3
  return { x: start.x + (end.x - start.x) * x, y: start.y + (end.y - start.y) * share }
}

/** Returns the place of each box. */
function placesOf(edges: readonly GraphEdge[]): ReadonlyMap<string, Place> {
  const sources = Map.groupBy(edges, ({ to }) => to)
  const places = new Map<string, Place>()
  const place = (name: string): Place => {
    const known = places.get(name)
    if (known !== undefined) return known
    const column = Math.max(-1, ...(sources.get(name) ?? []).map(({ from }) => place(from).column)) + 1
    const added: Place = { name, column, before: [], after: [], row: 0 }
    places.set(name, added)
    return added
  }
  for (const { from, to } of edges) {
    place(from)
    place(to)
  }
  return places
}

/** Returns the places that an edge connects, with a bend in each column between them. */
function routeOf({ from, to }: GraphEdge, places: ReadonlyMap<string, Place>): readonly Place[] {
  const [start, end] = [places.get(from), places.get(to)]
  if (start === undefined || end === undefined) return []
  const bends = Array.from({ length: end.column - start.column - 1 }, (_, at): Place => {
    return { name: undefined, column: start.column + at + 1, before: [], after: [], row: 0 }
  })
  const route = [start, ...bends, end]
  for (const [at, place] of route.entries()) {
    const next = route[at + 1]
    if (next === undefined) continue
    place.after.push(next)
    next.before.push(place)
  }
  return route
}

/** Sorts the places of each column, by their neighbors to the left and to the right in turn. */
function sortRows(columns: readonly Place[][]): void {
  const number = (column: readonly Place[]): void => column.forEach((place, row) => (place.row = row))
  columns.forEach(number)
  for (let pass = 0; pass < PASSES; pass++) {
    const side = pass % 2 === 0 ? 'before' : 'after'
    for (const column of side === 'before' ? columns : columns.toReversed()) {
      const wanted = new Map(column.map((place) => [place, meanRow(place[side]) ?? place.row]))
      column.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0))
      number(column)
    }
  }
}

function meanRow(places: readonly Place[]): number | undefined {
  if (places.length === 0) return undefined
  return places.reduce((sum, { row }) => sum + row, 0) / places.length
}
