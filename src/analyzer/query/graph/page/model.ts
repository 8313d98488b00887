import { byId } from '../../../../lib/page/elements.ts'
import type { GraphData } from './graph-data.ts'

/** Written by graph-html.ts. */
const graph = JSON.parse(byId('graph', HTMLScriptElement).text) as GraphData
export const { packages, classes, types } = graph

export function many(count: number, one: string, more = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : more}`
}

// Boxes are packages (0 …) and then classes.

/** The box of a class. */
export function boxOf(node: number): number {
  return packages.length + node
}

export function isPackage(box: number): boolean {
  return box < packages.length
}

/** The class of a box that is not a package. */
export function nodeOf(box: number): number {
  return box - packages.length
}

type Edge = readonly [source: number, target: number, type: number]

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

export function packageName(pack: number): string {
  return packages[pack] || '(unnamed package)'
}

export function nameOf(box: number): string {
  if (isPackage(box)) return packageName(box)
  const prefix = packages[packageOf(nodeOf(box))]
  return prefix ? `${prefix}.${className(nodeOf(box))}` : className(nodeOf(box))
}

/** The part behind the last dot, to compare with. */
export function lastWord(box: number): string {
  return nameOf(box).toLowerCase().split('.').at(-1) ?? ''
}

/** Packages that show their classes. */
export const opened = new Set<number>()
export const hiddenTypes = new Set<number>()

/** The box that stands for a class: its own, or that of its folded package. */
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

/** The edges between what is shown, those of one type and way as one. */
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

/** Whether a class is a box, or is in the box of a package. */
export function isPart(node: number, box: number): boolean {
  return isPackage(box) ? packageOf(node) === box : boxOf(node) === box
}
