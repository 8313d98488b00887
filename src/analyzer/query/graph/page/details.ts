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

/** A dependency's type and other class. */
type Dependency = readonly [type: number, node: number]

/** Shows the selected box with its dependencies and dependents. */
export function describe(goTo: (box: number) => void): void {
  const { chosen } = shown
  const details = byId('details', HTMLElement)
  if (chosen === undefined) {
    const textContent =
      'Click a package to expand or collapse it. Click a class or package to show its dependencies and dependents.'
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
    ...listOf('Dependencies', 'out', [...out.values()], goTo),
    ...listOf('Dependents', 'in', [...into.values()], goTo),
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
