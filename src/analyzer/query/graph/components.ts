/**
 * Tarjan's algorithm (SIAM J. Comput. 1(2), 1972) with an explicit stack: chains of classes are longer than
 * JavaScript's stack allows. Returns the strongly connected components of the nodes from 0 to `count`; yields often.
 */
export function* findComponents(
  count: number,
  next: (node: number) => ArrayLike<number>,
): Generator<void, readonly (readonly number[])[]> {
  const order = new Int32Array(count).fill(-1)
  const low = new Int32Array(count)
  const isOpen = new Uint8Array(count)
  const open: number[] = []
  const found: number[][] = []
  let counter = 0
  for (let root = 0; root < count; root++) {
    if (root % 1024 === 0) yield
    if (order[root] !== -1) continue
    const path = [{ node: root, edges: next(root), at: 0 }]
    order[root] = low[root] = counter++
    open.push(root)
    isOpen[root] = 1
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const { node, edges } = top
      const to = edges[top.at++]
      if (to === undefined) {
        path.pop()
        const parent = path.at(-1)
        if (parent !== undefined) low[parent.node] = Math.min(low[parent.node] ?? 0, low[node] ?? 0)
        if (low[node] === order[node]) found.push(close(node, open, isOpen))
      } else if (order[to] === -1) {
        order[to] = low[to] = counter++
        if (counter % 1024 === 0) yield
        open.push(to)
        isOpen[to] = 1
        path.push({ node: to, edges: next(to), at: 0 })
      } else if (isOpen[to] === 1) low[node] = Math.min(low[node] ?? 0, order[to] ?? 0)
    }
  }
  return found
}

function close(node: number, open: number[], isOpen: Uint8Array): number[] {
  const component = open.splice(open.lastIndexOf(node))
  for (const each of component) isOpen[each] = 0
  return component
}
