import { byId, make } from '../../../../lib/page/elements.ts'
import type { WireSummary } from '../../../api/process.ts'
import { detailedProcess, showDetailsOf } from './details-section.ts'
import { BOX, type GraphLayout, layOut, type Point } from './graph-layout.ts'

const SVG = 'http://www.w3.org/2000/svg'
/** Statuses, worst first: that of a box with replicas is the worst of theirs. */
const WORST = ['crashed', 'unhealthy', 'starting', 'stopping', 'stopped', 'running']

interface Edge {
  readonly from: string
  readonly to: string
  readonly condition: string
}

const section = byId('graph', HTMLElement)
const canvas = byId('graph-canvas', HTMLElement)
const boxes = new Map<string, HTMLButtonElement>()
let drawn = ''

/**
 * Shows how processes depend on each other; replicas share a box. Without dependencies there is nothing to show.
 *
 * @param isShown whether the page shows a process; others are shown only next to such a process
 * @param button creates a button that does something
 */
export function showGraph(
  processes: readonly WireSummary[],
  isShown: (process: WireSummary) => boolean,
  button: (label: string, work: () => Promise<unknown>) => HTMLButtonElement,
): void {
  const replicas = Map.groupBy(processes, ({ base }) => base)
  const isWanted = (base: string): boolean => replicas.get(base)?.some(isShown) === true
  const edges = [...replicas]
    .flatMap(([to, [first]]) =>
      Object.entries(first?.depends_on ?? {}).map(([from, condition]): Edge => ({ from, to, condition })),
    )
    .filter(({ from, to }) => replicas.has(from) && (isWanted(from) || isWanted(to)))
  section.hidden = edges.length === 0
  const wanted = JSON.stringify(edges)
  if (wanted !== drawn) {
    drawn = wanted
    draw(edges, (base) => button('', () => showDetailsOf(worstOf(base)?.name ?? base)))
  }
  current = replicas
  for (const [base, box] of boxes) describe(box, base, edges)
}

/** Processes by their name in the configuration. */
let current: ReadonlyMap<string, readonly WireSummary[]> = new Map()

/** Returns the replica whose state matters most. */
function worstOf(base: string): WireSummary | undefined {
  return current.get(base)?.toSorted((a, b) => WORST.indexOf(stateOf(a)) - WORST.indexOf(stateOf(b)))[0]
}

function stateOf({ status, health }: WireSummary): string {
  return status === 'running' && health === 'unhealthy' ? health : status
}

function draw(edges: readonly Edge[], boxOf: (base: string) => HTMLButtonElement): void {
  const layout = layOut(edges)
  Object.assign(canvas.style, { width: `${layout.width}px`, height: `${layout.height}px` })
  boxes.clear()
  // In reading order, which is that of the keyboard.
  const inOrder = [...layout.boxes].toSorted(([, a], [, b]) => a.x - b.x || a.y - b.y)
  for (const [base, { x, y }] of inOrder) {
    const box = boxOf(base)
    Object.assign(box.style, {
      left: `${x}px`,
      top: `${y - BOX.height / 2}px`,
      width: `${BOX.width}px`,
      height: `${BOX.height}px`,
    })
    boxes.set(base, box)
  }
  canvas.replaceChildren(drawEdges(layout), ...boxes.values())
}

function drawEdges({ width, height, ways }: GraphLayout<Edge>): SVGElement {
  const svg = element('svg', { width, height, 'aria-hidden': 'true' })
  const labels = ways.map(({ edge, label: { x, y } }) => {
    const label = element('text', { x, y })
    label.textContent = edge.condition
    return label
  })
  const paths = ways.map(({ points }) => element('path', { d: pathOf(points) }))
  const heads = ways.flatMap(({ points }) => {
    const { x, y } = points.at(-1) ?? { x: 0, y: 0 }
    return [element('path', { class: 'head', d: `M${x} ${y}l-8 -4v8z` })]
  })
  svg.append(...paths, ...heads, ...labels)
  return svg
}

function pathOf([first = { x: 0, y: 0 }, ...rest]: readonly Point[]): string {
  let { x } = first
  const parts = rest.map((point, at) => {
    const { y: from } = at === 0 ? first : (rest[at - 1] ?? first)
    const middle = (x + point.x) / 2
    x = point.x
    return `C${middle} ${from} ${middle} ${point.y} ${point.x} ${point.y}`
  })
  return `M${first.x} ${first.y}${parts.join('')}`
}

function element(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  return made
}

/** Updates the state that a box shows. */
function describe(box: HTMLButtonElement, base: string, edges: readonly Edge[]): void {
  const replicas = current.get(base) ?? []
  const worst = worstOf(base)
  if (worst === undefined) return
  const { status, health } = worst
  const running = replicas.filter((each) => each.status === 'running').length
  const state =
    replicas.length > 1
      ? `${running} of ${replicas.length} running`
      : health === 'unknown' || status !== 'running'
        ? status
        : `${status}, ${health}`
  const needs = edges
    .filter(({ to }) => to === base)
    .map(({ from, condition }) => `${from} (${condition})`)
    .join(', ')
  box.title = `${base} is ${state}${needs === '' ? '' : `; depends on ${needs}`}`
  box.setAttribute('aria-current', String(replicas.some(({ name }) => name === detailedProcess())))
  box.className = stateOf(worst)
  box.replaceChildren(make('b', {}, base), ' ', make('span', {}, state))
}
