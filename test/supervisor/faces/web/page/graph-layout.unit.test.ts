import { fc } from '../../../../support/fast-check.ts'
import { expect, test } from 'vitest'
import {
  BOX,
  type GraphEdge,
  LABEL_HEIGHT,
  layOut,
} from '../../../../../src/supervisor/faces/web/page/graph-layout.ts'

/** Edges without cycles: each points to a higher number. */
const graphs = fc.uniqueArray(
  fc
    .tuple(fc.nat(12), fc.integer({ min: 1, max: 6 }))
    .map(([from, more]): GraphEdge => ({ from: `p${from}`, to: `p${from + more}` })),
  { maxLength: 30, selector: ({ from, to }) => `${from} ${to}` },
)

test('boxes do not overlap, and each is to the right of what it depends on', () => {
  fc.assert(
    fc.property(graphs, (edges) => {
      const { boxes, width, height } = layOut(edges)
      expect(new Set(boxes.keys())).toEqual(new Set(edges.flatMap(({ from, to }) => [from, to])))
      for (const { from, to } of edges)
        expect(boxes.get(to)?.x).toBeGreaterThanOrEqual((boxes.get(from)?.x ?? 0) + BOX.width + BOX.space)
      const all = [...boxes.values()]
      for (const [at, one] of all.entries()) {
        expect(one.x).toBeGreaterThanOrEqual(0)
        expect(one.x + BOX.width).toBeLessThanOrEqual(width)
        expect(one.y - BOX.height / 2).toBeGreaterThanOrEqual(0)
        expect(one.y + BOX.height / 2).toBeLessThanOrEqual(height)
        for (const other of all.slice(at + 1))
          expect(one.x !== other.x || Math.abs(one.y - other.y) >= BOX.height + BOX.gap).toBe(true)
      }
    }),
  )
})

test('the label of an edge is on the edge, not in a box, and not on the label of an edge with a bend', () => {
  fc.assert(
    fc.property(graphs, (edges) => {
      const { boxes, ways } = layOut(edges)
      const bent = ways.filter(({ points }) => points.length > 2).map(({ label }) => `${label.x} ${label.y}`)
      expect(new Set(bent).size).toBe(bent.length)
      for (const { label, points } of ways) {
        for (const box of boxes.values())
          expect(
            label.x < box.x ||
              label.x > box.x + BOX.width ||
              Math.abs(label.y - box.y) >= BOX.height / 2 + BOX.gap / 2,
          ).toBe(true)
        const [start, next] = points
        expect(label.x).toBeGreaterThan(start?.x ?? 0)
        const [low = 0, high = 0] = [start?.y ?? 0, next?.y ?? 0].toSorted((a, b) => a - b)
        expect(label.y).toBeGreaterThanOrEqual(low)
        expect(label.y).toBeLessThanOrEqual(high)
      }
    }),
  )
})

test.each([
  ['two edges that cross', ['db api', 'db worker', 'cache api', 'cache worker']],
  ['an edge that passes a column', ['db api', 'db web', 'cache api', 'cache web', 'api web']],
])('no label covers another: %s', (_what, names) => {
  const edges = names.map((name) => name.split(' ')).map(([from = '', to = '']) => ({ from, to }))
  const labels = layOut(edges).ways.map(({ label }) => label)
  for (const [at, { x, y }] of labels.entries())
    for (const other of labels.slice(at + 1))
      expect(Math.abs(other.x - x) > BOX.space || Math.abs(other.y - y) >= LABEL_HEIGHT).toBe(true)
})

test('edges lead from box to box, and around the boxes between them', () => {
  fc.assert(
    fc.property(graphs, (edges) => {
      const { boxes, ways } = layOut(edges)
      expect(ways.map(({ edge }) => edge)).toEqual(edges)
      for (const { edge, points } of ways) {
        const [start, end] = [boxes.get(edge.from), boxes.get(edge.to)]
        expect(points.at(0)).toEqual({ x: (start?.x ?? 0) + BOX.width, y: start?.y })
        expect(points.at(-1)).toEqual(end)
        for (const { x, y } of points.slice(1, -1))
          for (const box of boxes.values())
            expect(
              x < box.x || x > box.x + BOX.width || Math.abs(y - box.y) >= BOX.height / 2 + BOX.gap / 2,
            ).toBe(true)
      }
    }),
  )
})

test('a chain, a fork and a long edge have no crossing', () => {
  const { boxes } = layOut([
    { from: 'db', to: 'api' },
    { from: 'api', to: 'web' },
    { from: 'db', to: 'web' },
    { from: 'cache', to: 'api' },
  ])
  const column = (name: string) => (boxes.get(name)?.x ?? 0) / (BOX.width + BOX.space)
  expect(['db', 'cache', 'api', 'web'].map(column)).toEqual([0, 0, 1, 2])
  expect(layOut([])).toEqual({ width: 0, height: 0, boxes: new Map(), ways: [] })
})
