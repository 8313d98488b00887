import type { PrintedGraph } from './printed-graph.ts'

const HOOKS = /^(?:readObject|readObjectNoData|readResolve|writeObject|writeReplace) /

/**
 * Returns the methods of a folder's classes that are reached from a method, by a fixed point over what
 * `javap` shows. `isCha` decides whether overrides of classes that are never created are reached.
 */
export function reachedIn(
  graph: PrintedGraph,
  start: ReadonlySet<string>,
  { isCha }: { readonly isCha: boolean },
): ReadonlySet<string> {
  const own = new Set(graph.own)
  const methods = new Set<string>()
  const created = new Set<string>()
  const initialized = new Set<string>()
  const ownerOf = (method: string): string => method.split('#')[0] ?? ''
  const methodOf = (method: string) =>
    graph.classes.get(ownerOf(method))?.methods.get(method.slice(method.indexOf('#') + 1))
  const reach = (method: string | undefined): void => {
    if (method === undefined || !own.has(ownerOf(method))) return
    methods.add(method)
    initialized.add(ownerOf(method))
  }
  const create = (name: string): void => {
    if (!own.has(name)) return
    created.add(name)
    initialized.add(name)
  }
  const reflect = (name: string): void => {
    create(name)
    if (own.has(name))
      for (const method of graph.methodsOf(name)) if (method.includes('#<init> ')) reach(method)
  }
  const reachNamed = (owner: string, name: string | undefined): void => {
    for (const method of graph.methodsOf(owner)) if (method.startsWith(`${owner}#${name} `)) reach(method)
  }
  for (const method of start) {
    reach(method)
    if (methodOf(method)?.isStatic !== true && graph.classes.get(ownerOf(method))?.isAbstract === false)
      create(ownerOf(method))
  }
  for (let before = -1; before !== methods.size + created.size + initialized.size;) {
    before = methods.size + created.size + initialized.size
    for (const method of methods) {
      const printed = methodOf(method)
      for (const name of printed?.created ?? []) create(name)
      for (const name of printed?.literals ?? []) reflect(name)
      for (const name of printed?.initialized ?? []) if (own.has(name)) initialized.add(name)
      for (const { owner, signature, isDispatched } of printed?.calls ?? []) {
        const target = graph.resolve(owner, signature)
        reach(target)
        const called = target === undefined ? undefined : methodOf(target)
        if (!isDispatched || called?.isExact === true) continue
        for (const name of isCha ? own : created)
          if (name === owner || graph.above(name).has(owner)) reach(graph.resolve(name, signature))
      }
    }
    for (const name of created)
      for (const type of graph.above(name)) {
        for (const [signature, { isExact, isFinal }] of graph.classes.get(type)?.methods ?? [])
          if (!own.has(type) && !isExact && !isFinal && !signature.startsWith('<'))
            reach(graph.resolve(name, signature))
        if (type === 'java/io/Serializable')
          for (const method of graph.methodsOf(name))
            if (HOOKS.test(method.split('#')[1] ?? '')) reach(method)
      }
    for (const name of initialized) {
      const packageInfo = `${name.slice(0, name.lastIndexOf('/') + 1)}package-info`
      const { annotations } = graph.classes.get(name) ?? {}
      for (const type of [packageInfo, ...(annotations?.initialized ?? [])])
        if (own.has(type)) initialized.add(type)
      const owners = [name]
      for (const text of annotations?.texts ?? [])
        owners.push((text.split('#')[0] ?? '').replaceAll('.', '/'))
      owners.push(...(annotations?.literals ?? []))
      for (const owner of owners.slice(1)) reflect(owner)
      for (const text of annotations?.texts ?? [])
        for (const owner of owners) reachNamed(owner, text.split('#')[1] ?? text)
      for (const type of [name, ...graph.above(name)])
        if (own.has(type) && graph.classes.get(type)?.methods.has('<clinit> ()V') === true)
          methods.add(`${type}#<clinit> ()V`)
    }
  }
  return methods
}
