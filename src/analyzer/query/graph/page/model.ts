import { byId } from '../../../../lib/page/elements.ts'
import type { GraphData } from './graph-data.ts'

/** Written by graph-html.ts. */
const graph = JSON.parse(byId('graph', HTMLScriptElement).text) as GraphData
/** Packages, classes and dependency types of the graph. */
export const { packages, classes, types } = graph

/** Formats a number with a noun. */
export function many(count: number, one: string, more = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : more}`
}

// Boxes are packages (0 …) and then classes.

/** The box of a class. */
export function boxOf(node: number): number {
  return packages.length + node
}

/** Whether a box is a package. */
export function isPackage(box: number): boolean {
  return box < packages.length
}

/** The class of a box that is not a package. */
export function nodeOf(box: number): number {
  return box - packages.length
}

type Edge = readonly [source: number, target: number, type: number]

/** Edges of the graph. */
export const edges: readonly Edge[] = Array.from({ length: graph.edges.length / 3 }, (_, i) => {
  const [source = 0, target = 0, type = 0] = graph.edges.slice(3 * i, 3 * i + 3)
  return [source, target, type]
})

const members: readonly number[][] = packages.map(() => [])
for (const [node, [, pack]] of classes.entries()) members[pack]?.push(node)

/** The classes of a package. */
export function membersOf(pack: number): readonly number[] {
  return members[pack] ?? []
}

/** The package of a class. */
export function packageOf(node: number): number {
  return classes[node]?.[1] ?? 0
}

/** A class's name without its package. */
export function className(node: number): string {
  return classes[node]?.[0] ?? ''
}

/** Returns the name of a package. */
export function packageName(pack: number): string {
  return packages[pack] || '(unnamed package)'
}

/** Returns the full name of a box. */
export function nameOf(box: number): string {
  if (isPackage(box)) return packageName(box)
  const prefix = packages[packageOf(nodeOf(box))]
  return prefix ? `${prefix}.${className(nodeOf(box))}` : className(nodeOf(box))
}

/** Returns the lower-case part after the last dot, for search. */
export function lastWord(box: number): string {
  return nameOf(box).toLowerCase().split('.').at(-1) ?? ''
}

/** Expanded packages. */
export const opened = new Set<number>()
/** Hidden types of dependencies. */
export const hiddenTypes = new Set<number>()

/** Returns the box that represents a class: its own, or that of its collapsed package. */
export function shownBox(node: number): number {
  const pack = packageOf(node)
  return opened.has(pack) ? boxOf(node) : pack
}

interface ShownEdge {
  readonly from: number
  readonly to: number
  readonly type: number
  readonly count: number
}

/** Returns the edges between shown boxes, merged by type and direction. */
export function shownEdges(): readonly ShownEdge[] {
  const found = new Map<string, ShownEdge>()
  for (const [source, target, type] of edges) {
    if (hiddenTypes.has(type)) continue
    const [from, to] = [shownBox(source), shownBox(target)]
    if (from === to) continue
    const key = `${from} ${to} ${type}`
    found.set(key, { from, to, type, count: (found.get(key)?.count ?? 0) + 1 })
  }
  return [...found.values()]
}

/** Whether a box is a class or the package that contains it. */
export function isPart(node: number, box: number): boolean {
  return isPackage(box) ? packageOf(node) === box : boxOf(node) === box
}
