import { byId, make } from '../../../../lib/page/elements.ts'
import { arrange, type Rectangle, rectangles } from './layout.ts'
import {
  className,
  isPackage,
  isPart,
  many,
  membersOf,
  nameOf,
  nodeOf,
  opened,
  packageName,
  shownBox,
  shownEdges,
} from './model.ts'

/** The selected box, if any, and the elements of the boxes on the page. */
export const shown: { chosen: number | undefined; elements: Map<number, HTMLButtonElement> } = {
  chosen: undefined,
  elements: new Map(),
}

const edgesElement = byId('edges', SVGSVGElement)

function positionAt<Kind extends HTMLElement>(element: Kind, { left, top, width, height }: Rectangle): Kind {
  Object.assign(element.style, {
    left: `${left}px`,
    top: `${top}px`,
    width: `${width}px`,
    height: `${height}px`,
  })
  return element
}

/** Draws all boxes and edges. */
export function draw(): void {
  arrange()
  const { activeElement } = document
  const focused = activeElement instanceof HTMLElement ? activeElement.dataset['box'] : undefined
  shown.elements = new Map()
  const boxes: HTMLElement[] = []
  const frames: HTMLElement[] = []
  for (const [box, rectangle] of rectangles) {
    const isOpen = isPackage(box) && opened.has(box)
    if (isOpen) frames.push(positionAt(make('div', { className: 'frame' }), rectangle))
    const button = isPackage(box) ? packageButton(box, isOpen) : classButton(box)
    button.dataset['box'] = String(box)
    shown.elements.set(box, button)
    const size = isOpen
      ? {
          ...rectangle,
          left: rectangle.left + 6,
          top: rectangle.top + 6,
          width: rectangle.width - 12,
          height: 30,
        }
      : rectangle
    boxes.push(positionAt(button, size))
  }
  byId('frames', HTMLElement).replaceChildren(...frames)
  byId('boxes', HTMLElement).replaceChildren(...boxes)
  mark()
  if (focused !== undefined) shown.elements.get(Number(focused))?.focus({ preventScroll: true })
}

function packageButton(box: number, isOpen: boolean): HTMLButtonElement {
  const { length } = membersOf(box)
  const button = make(
    'button',
    { type: 'button', className: 'package', title: nameOf(box) },
    `${isOpen ? '▾' : '▸'} ${packageName(box)} `,
    make('small', { textContent: String(length) }),
  )
  button.setAttribute('aria-expanded', String(isOpen))
  button.setAttribute('aria-label', `package ${packageName(box)}, ${many(length, 'class', 'classes')}`)
  return button
}

function classButton(box: number): HTMLButtonElement {
  const textContent = className(nodeOf(box))
  return make('button', { type: 'button', className: 'class', title: nameOf(box), textContent })
}

function line(a: Rectangle, b: Rectangle, shift: number): string {
  const [x1, x2] = [a.left + a.width / 2 + shift, b.left + b.width / 2 + shift]
  const down = a.top + a.height <= b.top
  const up = b.top + b.height <= a.top
  const y1 = down ? a.top + a.height : up ? a.top : a.top + a.height / 2
  const y2 = down ? b.top : up ? b.top + b.height : b.top + b.height / 2
  const bend = down || up ? (y2 - y1) / 2 : -40
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${down || up ? y2 - bend : y2 + bend} ${x2} ${y2}`
}

/** Draws the edges, and highlights the neighbors of the selected box. */
export function mark(): void {
  const near = new Set<number>()
  // A collapsed package represents its classes; a class in one is represented by the package.
  const { chosen } = shown
  const box = chosen === undefined || rectangles.has(chosen) ? chosen : shownBox(nodeOf(chosen))
  const touches = (end: number): boolean =>
    box !== undefined && (end === box || (isPackage(box) && !isPackage(end) && isPart(nodeOf(end), box)))
  const paths = shownEdges().flatMap(({ from, to, type, count }) => {
    const [start, end] = [rectangles.get(from), rectangles.get(to)]
    if (start === undefined || end === undefined) return []
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
    path.setAttribute('d', line(start, end, (type - 2.5) * 3))
    path.style.stroke = `var(--t${type})`
    path.style.strokeWidth = String(1 + Math.min(4, Math.log2(count) / 2))
    if (touches(from) || touches(to)) {
      path.classList.add('on')
      near.add(from).add(to)
    }
    return [path]
  })
  edgesElement.replaceChildren(...paths)
  edgesElement.classList.toggle('chosen', box !== undefined)
  for (const [each, element] of shown.elements) {
    const isNear = near.has(each)
    element.classList.toggle('near', isNear)
    const isAround = isPackage(each) && opened.has(each)
    element.classList.toggle('far', box !== undefined && !isNear && !isAround && !touches(each))
    element.setAttribute('aria-current', String(each === box))
  }
}
