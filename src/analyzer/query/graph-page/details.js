import { shown } from './draw.js'
import {
  at,
  boxOf,
  classes,
  edges,
  hiddenTypes,
  isPart,
  make,
  many,
  members,
  nameOf,
  packageName,
  packages,
  types,
} from './model.js'

/** Shows what is chosen, what it needs and what needs it. */
export const describe = (goTo) => {
  const { chosen } = shown
  if (chosen === undefined) {
    const textContent =
      'A click on a package opens or folds it; a click on a class or package shows what it needs and what needs it.'
    at('details').replaceChildren(make('p', { textContent }))
    return
  }
  const out = new Map()
  const into = new Map()
  for (const [source, target, type] of edges) {
    const [from, to] = [isPart(source, chosen), isPart(target, chosen)]
    if (hiddenTypes.has(type) || from === to) continue
    if (from) out.set(`${type} ${target}`, [type, target])
    else into.set(`${type} ${source}`, [type, source])
  }
  const isPackage = chosen < packages.length
  const [name, pack] = isPackage ? [packageName(chosen)] : classes[chosen - packages.length]
  const under = isPackage ? many(members[chosen].length, 'class', 'classes') : packageName(pack)
  at('details').replaceChildren(
    make('h2', { id: 'chosen', textContent: name }),
    make('p', { textContent: under }),
    ...listOf('Needs', 'out', out, goTo),
    ...listOf('Needed by', 'in', into, goTo),
  )
}

const listOf = (title, id, found, goTo) => {
  const sorted = [...found.values()].toSorted(
    ([a, x], [b, y]) => a - b || (nameOf(boxOf(x)) < nameOf(boxOf(y)) ? -1 : 1),
  )
  const items = sorted.map(([type, node]) => {
    const dot = make('span', { className: 'dot', title: types[type] })
    dot.style.color = `var(--t${type})`
    const go = make(
      'button',
      { type: 'button', title: types[type] },
      dot,
      make('span', { textContent: nameOf(boxOf(node)) }),
    )
    go.addEventListener('click', () => goTo(boxOf(node)))
    return make('li', {}, go)
  })
  return [make('h3', { textContent: `${title} (${items.length})` }), make('ul', { id }, ...items)]
}
