import { byId, make } from '../../../../lib/page/elements.ts'
import { shown } from './draw.ts'
import {
  boxOf,
  className,
  edges,
  hiddenTypes,
  isPackage,
  isPart,
  many,
  membersOf,
  nameOf,
  nodeOf,
  packageName,
  packageOf,
  types,
} from './model.ts'

/** A type of dependency, and the class at its other end. */
type Dependency = readonly [type: number, node: number]

/** Shows what is chosen, what it needs and what needs it. */
export function describe(goTo: (box: number) => void): void {
  const { chosen } = shown
  const details = byId('details', HTMLElement)
  if (chosen === undefined) {
    const textContent =
      'A click on a package opens or folds it; a click on a class or package shows what it needs and what needs it.'
    details.replaceChildren(make('p', { textContent }))
    return
  }
  const out = new Map<string, Dependency>()
  const into = new Map<string, Dependency>()
  for (const [source, target, type] of edges) {
    const [from, to] = [isPart(source, chosen), isPart(target, chosen)]
    if (hiddenTypes.has(type) || from === to) continue
    if (from) out.set(`${type} ${target}`, [type, target])
    else into.set(`${type} ${source}`, [type, source])
  }
  const name = isPackage(chosen) ? packageName(chosen) : className(nodeOf(chosen))
  const under = isPackage(chosen)
    ? many(membersOf(chosen).length, 'class', 'classes')
    : packageName(packageOf(nodeOf(chosen)))
  details.replaceChildren(
    make('h2', { id: 'chosen', textContent: name }),
    make('p', { textContent: under }),
    ...listOf('Needs', 'out', [...out.values()], goTo),
    ...listOf('Needed by', 'in', [...into.values()], goTo),
  )
}

function listOf(
  title: string,
  id: string,
  found: readonly Dependency[],
  goTo: (box: number) => void,
): readonly HTMLElement[] {
  const sorted = found.toSorted(([a, x], [b, y]) => a - b || (nameOf(boxOf(x)) < nameOf(boxOf(y)) ? -1 : 1))
  const items = sorted.map(([type, node]) => {
    const kind = types[type] ?? ''
    const dot = make('span', { className: 'dot', title: kind })
    dot.style.color = `var(--t${type})`
    const name = make('span', { textContent: nameOf(boxOf(node)) })
    const go = make('button', { type: 'button', title: kind }, dot, name)
    go.addEventListener('click', () => goTo(boxOf(node)))
    return make('li', {}, go)
  })
  return [make('h3', { textContent: `${title} (${items.length})` }), make('ul', { id }, ...items)]
}
