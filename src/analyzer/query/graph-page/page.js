import { describe } from './details.js'
import { draw, mark, shown } from './draw.js'
import { drawn, places } from './layout.js'
import { at, classes, hiddenTypes, lastWord, make, many, nameOf, opened, packages, types } from './model.js'

const choose = (box) => {
  shown.chosen = box
  describe(goTo)
  mark()
}

const goTo = (box) => {
  if (box >= packages.length && !opened.has(classes[box - packages.length][1])) {
    opened.add(classes[box - packages.length][1])
    draw()
  }
  choose(box)
  center(box)
  shown.elements.get(box)?.focus({ preventScroll: true })
}

// ---- Moving about.
const camera = { x: 20, y: 20, scale: 1 }
const move = () => {
  at('canvas').style.transform = `translate(${camera.x}px, ${camera.y}px) scale(${camera.scale})`
}
const fit = () => {
  const { clientWidth, clientHeight } = at('view')
  camera.scale = Math.max(
    0.08,
    Math.min(1, (clientWidth - 40) / drawn.width, (clientHeight - 40) / drawn.height),
  )
  camera.x = Math.max(20, (clientWidth - drawn.width * camera.scale) / 2)
  camera.y = 20
  move()
}
const zoom = (factor, x = at('view').clientWidth / 2, y = at('view').clientHeight / 2) => {
  const scale = Math.max(0.08, Math.min(3, camera.scale * factor))
  camera.x = x - ((x - camera.x) * scale) / camera.scale
  camera.y = y - ((y - camera.y) * scale) / camera.scale
  camera.scale = scale
  move()
}
const center = (box) => {
  const place = places.get(box)
  if (!place) return
  camera.scale = Math.max(camera.scale, 0.7)
  camera.x = at('view').clientWidth / 2 - (place.left + place.width / 2) * camera.scale
  camera.y = at('view').clientHeight / 2 - (place.top + Math.min(place.height, 200) / 2) * camera.scale
  move()
}

at('boxes').addEventListener('click', ({ target }) => {
  const button = target.closest('button')
  if (!button) return
  const box = Number(button.dataset.box)
  if (box < packages.length) {
    if (!opened.delete(box)) opened.add(box)
    shown.chosen = box
    draw()
  }
  choose(box)
})
// What the keyboard comes to is brought into sight.
at('boxes').addEventListener('focusin', ({ target }) => {
  const [view, own] = [at('view').getBoundingClientRect(), target.getBoundingClientRect()]
  at('view').scrollTo(0, 0)
  if (
    target.matches(':focus-visible') &&
    (own.left < view.left || own.right > view.right || own.top < view.top || own.bottom > view.bottom)
  )
    center(Number(target.dataset.box))
})

const STEPS = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const isTyping = event.target === at('search')
  if (event.key === 'Escape') {
    at('found').hidden = true
    choose(undefined)
  } else if (isTyping) return
  else if (event.key === '/') {
    event.preventDefault()
    at('search').focus()
  } else if (event.key === '+' || event.key === '=') zoom(1.25)
  else if (event.key === '-') zoom(0.8)
  else if (event.key === '0') fit()
  else if (STEPS[event.key] && at('view').contains(event.target)) {
    event.preventDefault()
    camera.x += STEPS[event.key][0]
    camera.y += STEPS[event.key][1]
    move()
  }
})
at('view').addEventListener(
  'wheel',
  (event) => {
    event.preventDefault()
    const { left, top } = at('view').getBoundingClientRect()
    zoom(Math.exp(-event.deltaY / 600), event.clientX - left, event.clientY - top)
  },
  { passive: false },
)
at('view').addEventListener('pointerdown', (event) => {
  if (event.target.closest('button')) return
  at('view').setPointerCapture(event.pointerId)
  const start = { x: camera.x - event.clientX, y: camera.y - event.clientY }
  const drag = ({ clientX, clientY }) => {
    camera.x = start.x + clientX
    camera.y = start.y + clientY
    move()
  }
  at('view').addEventListener('pointermove', drag)
  at('view').addEventListener('pointerup', () => at('view').removeEventListener('pointermove', drag), {
    once: true,
  })
})

// ---- Finding.
const search = () => {
  const wanted = at('search').value.trim().toLowerCase()
  const boxes = Array.from({ length: packages.length + classes.length }, (_, box) => box)
  const rank = (box) => (lastWord(box) === wanted ? 0 : lastWord(box).startsWith(wanted) ? 1 : 2)
  const isFound = (box) => nameOf(box).toLowerCase().includes(wanted)
  const found = wanted === '' ? [] : boxes.filter(isFound).toSorted((a, b) => rank(a) - rank(b))
  at('found').replaceChildren(
    ...found.slice(0, 50).map((box) => {
      const go = make('button', { type: 'button', textContent: nameOf(box) })
      go.addEventListener('click', () => {
        at('found').hidden = true
        goTo(box)
      })
      return make('li', {}, go)
    }),
    ...(wanted !== '' && found.length === 0 ? [make('li', { textContent: 'nothing is called so' })] : []),
    ...(found.length > 50 ? [make('li', { textContent: `and ${found.length - 50} more` })] : []),
  )
  at('found').hidden = wanted === ''
}
at('search').addEventListener('input', search)
at('search').parentElement.addEventListener('keydown', (event) => {
  const buttons = [...at('found').querySelectorAll('button')]
  const place = buttons.indexOf(document.activeElement)
  if (event.key === 'Enter' && event.target === at('search')) buttons[0]?.click()
  else if (event.key === 'ArrowDown') (buttons[place + 1] ?? buttons[0])?.focus()
  else if (event.key === 'ArrowUp') (buttons[place - 1] ?? at('search')).focus()
  else return
  event.preventDefault()
})

// ---- The head of the page.
at('counts').textContent = `${many(classes.length, 'class', 'classes')}, ${many(packages.length, 'package')}`
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
  at('types').append(make('label', {}, box, dot, name.toLowerCase().replaceAll('_', ' ')))
}
const all = (isOpen) => () => {
  opened.clear()
  if (isOpen) for (const pack of packages.keys()) opened.add(pack)
  draw()
  fit()
}
at('open-all').addEventListener('click', all(true))
at('fold-all').addEventListener('click', all(false))
at('fit').addEventListener('click', fit)

describe(goTo)
draw()
fit()
