/** @type {{packages: string[], classes: [name: string, package: number][], edges: number[], types: string[]}} */
const graph = JSON.parse(document.getElementById('graph').textContent)
export const { packages, classes, types } = graph
export const at = (id) => document.getElementById(id)
export const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}
export const many = (count, one, more = `${one}s`) =>
  `${count.toLocaleString('en')} ${count === 1 ? one : more}`

// Boxes are packages (0 …) and then classes; an edge is [source class, target class, type].
export const boxOf = (node) => packages.length + node
export const edges = []
for (let i = 0; i < graph.edges.length; i += 3) edges.push(graph.edges.slice(i, i + 3))
export const members = packages.map(() => [])
for (const [node, [, pack]] of classes.entries()) members[pack].push(node)
export const packageName = (pack) => packages[pack] || '(unnamed package)'
/** The part behind the last dot, to compare with. */
export const lastWord = (box) => nameOf(box).toLowerCase().split('.').at(-1)

export const nameOf = (box) =>
  box < packages.length
    ? packageName(box)
    : (([name, pack]) => (packages[pack] ? `${packages[pack]}.${name}` : name))(
        classes[box - packages.length],
      )

/** Packages that show their classes. */
export const opened = new Set()
export const hiddenTypes = new Set()

export const shownBox = (node) => (opened.has(classes[node][1]) ? boxOf(node) : classes[node][1])

/** The edges between what is shown, those of one type and way as one. */
export const shownEdges = () => {
  const found = new Map()
  for (const [source, target, type] of edges) {
    if (hiddenTypes.has(type)) continue
    const [from, to] = [shownBox(source), shownBox(target)]
    if (from === to) continue
    const key = `${from} ${to} ${type}`
    const known = found.get(key)
    if (known) known.count++
    else found.set(key, { from, to, type, count: 1 })
  }
  return [...found.values()]
}

export const isPart = (node, box) => (box < packages.length ? classes[node][1] === box : boxOf(node) === box)
