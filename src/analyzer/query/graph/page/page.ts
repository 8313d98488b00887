import { byId, make } from '../../../../lib/page/elements.ts'
import { describe } from './details.ts'
import { draw, mark, shown } from './draw.ts'
import { drawn, rectangles } from './layout.ts'
import {
  classes,
  hiddenTypes,
  isPackage,
  lastWord,
  many,
  nameOf,
  nodeOf,
  opened,
  packageOf,
  packages,
  types,
} from './model.ts'

const view = byId('view', HTMLElement)
const boxes = byId('boxes', HTMLElement)
const input = byId('search', HTMLInputElement)
const results = byId('found', HTMLElement)

function choose(box: number | undefined): void {
  shown.chosen = box
  describe(goTo)
  mark()
}

function goTo(box: number): void {
  if (!isPackage(box) && !opened.has(packageOf(nodeOf(box)))) {
    opened.add(packageOf(nodeOf(box)))
    draw()
  }
  choose(box)
  center(box)
  shown.elements.get(box)?.focus({ preventScroll: true })
}

// ---- Moving about.
const camera = { x: 20, y: 20, scale: 1 }

function move(): void {
  const { x, y, scale } = camera
  byId('canvas', HTMLElement).style.transform = `translate(${x}px, ${y}px) scale(${scale})`
}

function fit(): void {
  const { clientWidth, clientHeight } = view
  camera.scale = Math.max(
    0.08,
    Math.min(1, (clientWidth - 40) / drawn.width, (clientHeight - 40) / drawn.height),
  )
  camera.x = Math.max(20, (clientWidth - drawn.width * camera.scale) / 2)
  camera.y = 20
  move()
}

function zoom(factor: number, x = view.clientWidth / 2, y = view.clientHeight / 2): void {
  const scale = Math.max(0.08, Math.min(3, camera.scale * factor))
  camera.x = x - ((x - camera.x) * scale) / camera.scale
  camera.y = y - ((y - camera.y) * scale) / camera.scale
  camera.scale = scale
  move()
}

function center(box: number): void {
  const rectangle = rectangles.get(box)
  if (rectangle === undefined) return
  camera.scale = Math.max(camera.scale, 0.7)
  camera.x = view.clientWidth / 2 - (rectangle.left + rectangle.width / 2) * camera.scale
  camera.y = view.clientHeight / 2 - (rectangle.top + Math.min(rectangle.height, 200) / 2) * camera.scale
  move()
}

/** Returns the button that an event came from or in. */
function buttonOf({ target }: Event): HTMLButtonElement | null {
  return target instanceof Element ? target.closest('button') : null
}

boxes.addEventListener('click', (event) => {
  const button = buttonOf(event)
  if (button === null) return
  const box = Number(button.dataset['box'])
  if (isPackage(box)) {
    if (!opened.delete(box)) opened.add(box)
    shown.chosen = box
    draw()
  }
  choose(box)
})
// Scrolls a button into view when the keyboard focuses it.
boxes.addEventListener('focusin', (event) => {
  const button = buttonOf(event)
  if (button === null) return
  const [around, own] = [view.getBoundingClientRect(), button.getBoundingClientRect()]
  view.scrollTo(0, 0)
  const isOutside =
    own.left < around.left || own.right > around.right || own.top < around.top || own.bottom > around.bottom
  if (button.matches(':focus-visible') && isOutside) center(Number(button.dataset['box']))
})

const STEPS: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [60, 0],
  ArrowRight: [-60, 0],
  ArrowUp: [0, 60],
  ArrowDown: [0, -60],
}
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const step = STEPS[event.key]
  if (event.key === 'Escape') {
    results.hidden = true
    choose(undefined)
  } else if (event.target === input) return
  else if (event.key === '/') {
    event.preventDefault()
    input.focus()
  } else if (event.key === '+' || event.key === '=') zoom(1.25)
  else if (event.key === '-') zoom(0.8)
  else if (event.key === '0') fit()
  else if (step !== undefined && event.target instanceof Node && view.contains(event.target)) {
    event.preventDefault()
    camera.x += step[0]
    camera.y += step[1]
    move()
  }
})
view.addEventListener(
  'wheel',
  (event) => {
    event.preventDefault()
    const { left, top } = view.getBoundingClientRect()
    zoom(Math.exp(-event.deltaY / 600), event.clientX - left, event.clientY - top)
  },
  { passive: false },
)
view.addEventListener('pointerdown', (event) => {
  if (buttonOf(event) !== null) return
  view.setPointerCapture(event.pointerId)
  const start = { x: camera.x - event.clientX, y: camera.y - event.clientY }
  const drag = ({ clientX, clientY }: PointerEvent): void => {
    camera.x = start.x + clientX
    camera.y = start.y + clientY
    move()
  }
  view.addEventListener('pointermove', drag)
  view.addEventListener('pointerup', () => view.removeEventListener('pointermove', drag), { once: true })
})

// ---- Finding.
function search(): void {
  const wanted = input.value.trim().toLowerCase()
  const all = Array.from({ length: packages.length + classes.length }, (_, box) => box)
  const rank = (box: number): number =>
    lastWord(box) === wanted ? 0 : lastWord(box).startsWith(wanted) ? 1 : 2
  const isFound = (box: number): boolean => nameOf(box).toLowerCase().includes(wanted)
  const found = wanted === '' ? [] : all.filter(isFound).toSorted((a, b) => rank(a) - rank(b))
  results.replaceChildren(
    ...found.slice(0, 50).map((box) => {
      const go = make('button', { type: 'button', textContent: nameOf(box) })
      go.addEventListener('click', () => {
        results.hidden = true
        goTo(box)
      })
      return make('li', {}, go)
    }),
    ...(wanted !== '' && found.length === 0
      ? [make('li', { textContent: 'No classes or packages match' })]
      : []),
    ...(found.length > 50 ? [make('li', { textContent: `and ${found.length - 50} more` })] : []),
  )
  results.hidden = wanted === ''
}
input.addEventListener('input', search)
input.parentElement?.addEventListener('keydown', (event) => {
  const buttons = [...results.querySelectorAll('button')]
  const rectangle = buttons.findIndex((button) => button === document.activeElement)
  if (event.key === 'Enter' && event.target === input) buttons[0]?.click()
  else if (event.key === 'ArrowDown') (buttons[rectangle + 1] ?? buttons[0])?.focus()
  else if (event.key === 'ArrowUp') (buttons[rectangle - 1] ?? input).focus()
  else return
  event.preventDefault()
})

// ---- The head of the page.
byId('counts', HTMLElement).textContent =
  `${many(classes.length, 'class', 'classes')}, ${many(packages.length, 'package')}`
for (const [type, name] of types.entries()) {
  const box = make('input', { type: 'checkbox', checked: true, value: name })
  const dot = make('span', { className: 'dot' })
  dot.style.color = `var(--t${type})`
  box.addEventListener('change', () => {
    if (box.checked) hiddenTypes.delete(type)
    else hiddenTypes.add(type)
    describe(goTo)
    mark()
  })
  const label = make('label', {}, box, dot, name.toLowerCase().replaceAll('_', ' '))
  byId('types', HTMLElement).append(label)
}

function openAll(isOpen: boolean): void {
  opened.clear()
  if (isOpen) for (const pack of packages.keys()) opened.add(pack)
  draw()
  fit()
}
byId('open-all', HTMLElement).addEventListener('click', () => openAll(true))
byId('fold-all', HTMLElement).addEventListener('click', () => openAll(false))
byId('fit', HTMLElement).addEventListener('click', fit)

describe(goTo)
draw()
fit()
