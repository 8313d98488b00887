import type { AnalyzerProcess } from './analyzer-server.ts'

/** Requests by kind of question, with varying arguments: half of them any class, half one that others refer to. */
export type Questions = ReadonlyMap<string, readonly string[]>

const SAMPLED = 300

interface Classes {
  readonly classes: readonly { readonly fqn: string; readonly packageName: string; readonly type: string }[]
}

interface Dependencies {
  readonly outgoing: readonly { readonly classFqn: string; readonly source: string }[]
}

interface Calls {
  readonly methods: readonly {
    readonly methodName: string
    readonly calls: readonly { readonly ownerType: string; readonly methodName: string }[]
  }[]
}

/** Creates `count` requests of each kind about a project's own classes; deterministic for a seed. */
export async function questionsAbout(
  server: AnalyzerProcess,
  count: number,
  seed: number,
): Promise<Questions> {
  const random = randomFrom(seed)
  const pick = <T>(from: readonly T[]): T => {
    const picked = from[Math.floor(random() * from.length)]
    if (picked === undefined) throw new Error('the project has no candidates for a question’s argument')
    return picked
  }
  const all = await allClasses(server)
  const sample = Array.from({ length: SAMPLED }, () => pick(all).fqn)
  const named: string[] = []
  const called: string[] = []
  const methods: string[] = []
  for (const fqn of sample) {
    const of = encodeURIComponent(fqn)
    const { outgoing } = JSON.parse(await server.get(`/dependencies/${of}`)) as Dependencies
    named.push(...outgoing.map(({ classFqn }) => classFqn))
    const calls = (JSON.parse(await server.get(`/calls/${of}`)) as Calls).methods
    methods.push(...calls.map(({ methodName }) => methodName))
    called.push(...calls.flatMap((each) => each.calls.map((call) => `${call.ownerType}#${call.methodName}`)))
  }
  const known = new Set(all.map(({ fqn }) => fqn))
  const calledHere = called.filter((member) => known.has(member.split('#')[0] ?? ''))
  const annotations = all.filter(({ type }) => type === 'ANNOTATION').map(({ fqn }) => fqn)
  const aClass = () => encodeURIComponent(random() < 0.5 ? pick(all).fqn : pick(named))
  const aPackage = () => encodeURIComponent(pick(all).packageName)
  const part = (word: string) => encodeURIComponent(`${word.slice(0, 2 + Math.floor(random() * 4))}*`)
  const simple = (fqn: string) => fqn.slice(Math.max(fqn.lastIndexOf('.'), fqn.lastIndexOf('$')) + 1)
  const aPage = () => `page=${Math.floor(random() * 3)}&size=50`
  const kinds: Readonly<Record<string, () => string>> = {
    'classes list --package': () => `/classes?package=${aPackage()}&${aPage()}`,
    'classes list --name': () => `/classes?name=${part(simple(pick(all).fqn))}&${aPage()}`,
    'classes list --extends': () => `/classes?extends=${aClass()}&${aPage()}`,
    'classes list, any page': () => `/classes?page=${Math.floor((random() * all.length) / 50)}&size=50`,
    'classes show': () => `/classes/${aClass()}`,
    'classes implementations': () => `/implementations/${aClass()}`,
    'classes hierarchy': () => `/hierarchy/${aClass()}`,
    'classes dependencies': () => `/dependencies/${aClass()}`,
    'annotations usages': () => `/annotations/usages/${encodeURIComponent(pick(annotations))}?${aPage()}`,
    'methods search --name': () => `/methods?name=${part(pick(methods))}&${aPage()}`,
    'methods search --package --name': () =>
      `/methods?inPackage=${aPackage()}&name=${part(pick(methods))}&${aPage()}`,
    'methods search --return-type': () => `/methods?returnType=${aClass()}&${aPage()}`,
    calls: () => `/calls/${aClass()}`,
    callers: () => `/callers/${encodeURIComponent(pick(calledHere))}?${aPage()}`,
    'callers --include-subtypes': () =>
      `/callers/${encodeURIComponent(pick(calledHere))}?includeSubtypes=true&${aPage()}`,
    xref: () => `/xref/${aClass()}?${aPage()}`,
  }
  return new Map(
    Object.entries(kinds).map(([kind, make]) => [kind, Array.from({ length: count }, () => make())]),
  )
}

async function allClasses(server: AnalyzerProcess): Promise<Classes['classes']> {
  const classes: Classes['classes'][number][] = []
  for (let page = 0; ; page++) {
    const answer = JSON.parse(await server.get(`/classes?size=10000&page=${page}`)) as Classes
    if (answer.classes.length === 0) return classes
    classes.push(...answer.classes)
  }
}

/** Returns a generator of numbers from 0 to 1: mulberry32, sufficient here and the same on all systems. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
