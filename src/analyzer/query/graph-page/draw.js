import { arrange, places } from './layout.js'
import {
  at,
  classes,
  isPart,
  make,
  many,
  members,
  nameOf,
  opened,
  packageName,
  packages,
  shownBox,
  shownEdges,
} from './model.js'

/** What is chosen, a box or none, and the elements of what is shown. */
export const shown = { chosen: undefined, elements: new Map() }

// ---- Drawing.
const placeAt = (element, { left, top, width, height }) => {
  Object.assign(element.style, {
    left: `${left}px`,
    top: `${top}px`,
    width: `${width}px`,
    height: `${height}px`,
  })
  return element
}

export const draw = () => {
  arrange()
  const focused = document.activeElement?.dataset?.box
  shown.elements = new Map()
  const all = []
  const frames = []
  for (const [box, place] of places) {
    const isPackage = box < packages.length
    const isOpen = isPackage && opened.has(box)
    if (isOpen) frames.push(placeAt(make('div', { className: 'frame' }), place))
    const button = make('button', {
      type: 'button',
      className: isPackage ? 'package' : 'class',
      title: nameOf(box),
    })
    button.dataset.box = box
    if (isPackage) {
      button.append(
        `${isOpen ? '▾' : '▸'} ${packageName(box)} `,
        make('small', { textContent: members[box].length }),
      )
      button.setAttribute('aria-expanded', isOpen)
      button.setAttribute(
        'aria-label',
        `package ${packageName(box)}, ${many(members[box].length, 'class', 'classes')}`,
      )
    } else button.textContent = classes[box - packages.length][0]
    shown.elements.set(box, button)
    const size = isOpen
      ? { ...place, left: place.left + 6, top: place.top + 6, width: place.width - 12, height: 30 }
      : place
    all.push(placeAt(button, size))
  }
  at('frames').replaceChildren(...frames)
  at('boxes').replaceChildren(...all)
  mark()
  if (focused !== undefined) shown.elements.get(Number(focused))?.focus({ preventScroll: true })
}

const line = (from, to, shift) => {
  const [a, b] = [places.get(from), places.get(to)]
  const [x1, x2] = [a.left + a.width / 2 + shift, b.left + b.width / 2 + shift]
  const down = a.top + a.height <= b.top
  const up = b.top + b.height <= a.top
  const y1 = down ? a.top + a.height : up ? a.top : a.top + a.height / 2
  const y2 = down ? b.top : up ? b.top + b.height : b.top + b.height / 2
  const bend = down || up ? (y2 - y1) / 2 : -40
  return `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${down || up ? y2 - bend : y2 + bend} ${x2} ${y2}`
}

/** Edges, and what stands out beside what is chosen. */
export const mark = () => {
  const near = new Set()
  // A folded package stands for its classes; a class of one for its package.
  const { chosen } = shown
  const box = chosen === undefined || places.has(chosen) ? chosen : shownBox(chosen - packages.length)
  const touches = (end) =>
    end === box || (box < packages.length && end >= packages.length && isPart(end - packages.length, box))
  const paths = shownEdges().map(({ from, to, type, count }) => {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path')
    path.setAttribute('d', line(from, to, (type - 2.5) * 3))
    path.style.stroke = `var(--t${type})`
    path.style.strokeWidth = 1 + Math.min(4, Math.log2(count) / 2)
    if (box !== undefined && (touches(from) || touches(to))) {
      path.classList.add('on')
      near.add(from).add(to)
    }
    return path
  })
  at('edges').replaceChildren(...paths)
  at('edges').classList.toggle('chosen', box !== undefined)
  for (const [each, element] of shown.elements) {
    const isNear = box !== undefined && near.has(each)
    element.classList.toggle('near', isNear)
    const isAround = each < packages.length && opened.has(each)
    element.classList.toggle(
      'far',
      box !== undefined && !isNear && each !== box && !isAround && !touches(each),
    )
    element.setAttribute('aria-current', each === box)
  }
}
