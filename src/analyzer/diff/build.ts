import { existsSync } from 'node:fs'
import { findJvm } from '../project/find-jvm.ts'
import type { ClassContainer } from '../classpath/class-container.ts'
import { listClasses } from '../classpath/list-classes.ts'
import { readClasses } from '../classpath/read-classes.ts'
import { fault } from '../errors.ts'
import { ACC } from '../bytecode/access-flags.ts'
import { type ApiClass, apiClass } from './api-class.ts'

/** Classes of one call of the reader. */
const SLICE = 512

/** All classes of one build, and the types outside it that they extend, as far as those are known. */
export interface Build {
  readonly path: string
  /** By internal name. */
  readonly classes: ReadonlyMap<string, ApiClass>
  /** The class itself, or one of the JDK's. */
  readonly find: (name: string) => ApiClass | undefined
  /** What could not be read. */
  readonly problems: readonly string[]
}

/** Finds JDK classes by internal name. */
export type FindExternalClasses = (names: ReadonlySet<string>) => Promise<ReadonlyMap<string, ApiClass>>

/** Reads a jar or class folder. @throws BAD_REQUEST where there is none, and where no class is in it */
export async function readBuild(
  path: string,
  findExternal: FindExternalClasses,
  release: number,
): Promise<Build> {
  if (!existsSync(path)) throw fault('BAD_REQUEST', `there is no jar or class folder "${path}"`)
  const { containers, problems } = listClasses(path, release)
  const classes = new Map<string, ApiClass>()
  const bad = problems.map(({ path: where, message }) => `${where}: ${message}`)
  for (const container of containers) {
    for (let first = 0; first < container.classes.length; first += SLICE) {
      const slice = await readClasses(container, container.classes.slice(first, first + SLICE))
      bad.push(...slice.problems.map(({ path: where, message }) => `${where}: ${message}`))
      for (const row of slice.facts.classes.name.keys()) {
        const each = apiClass(slice.facts, row)
        // Of classes of one name the first counts, as for the JVM.
        if ((each.flags & ACC.MODULE) === 0 && !classes.has(each.name)) classes.set(each.name, each)
      }
    }
  }
  if (classes.size === 0)
    throw fault('BAD_REQUEST', `"${path}" holds no classes${bad[0] === undefined ? '' : `: ${bad[0]}`}`)
  const outside = await externalSupertypes(classes, findExternal)
  return { path, classes, find: (name) => classes.get(name) ?? outside.get(name), problems: bad }
}

async function externalSupertypes(
  classes: ReadonlyMap<string, ApiClass>,
  findExternal: FindExternalClasses,
): Promise<ReadonlyMap<string, ApiClass>> {
  const found = new Map<string, ApiClass>()
  for (let last: Iterable<ApiClass> = classes.values(); ;) {
    const missing = new Set<string>()
    for (const { superName, interfaces } of last)
      for (const name of [...(superName === undefined ? [] : [superName]), ...interfaces])
        if (!classes.has(name) && !found.has(name)) missing.add(name)
    if (missing.size === 0) return found
    const more = await findExternal(missing)
    if (more.size === 0) return found
    for (const [name, each] of more) found.set(name, each)
    last = more.values()
  }
}

/** Reads the JDK's own classes, each once, and only those that are asked for. */
export function jdkClasses(
  jvmHome: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly find: FindExternalClasses; readonly release: number } {
  const jvm = findJvm(jvmHome, environment)
  const cache = new Map<string, ApiClass>()
  let containers: readonly ClassContainer[] | undefined
  return {
    // Without a JVM the newest classes of a multi-release jar count.
    release: jvm?.release ?? 99,
    async find(names) {
      containers ??= (jvm?.classes ?? []).flatMap((path) => listClasses(path, jvm?.release ?? 8).containers)
      for (const container of containers) {
        const wanted = container.classes.filter(({ name }) => names.has(name) && !cache.has(name))
        if (wanted.length === 0) continue
        const { facts } = await readClasses(container, wanted)
        for (const row of facts.classes.name.keys()) {
          const each = apiClass(facts, row)
          cache.set(each.name, each)
        }
      }
      return new Map(
        [...names].flatMap((name) => {
          const each = cache.get(name)
          return each === undefined ? [] : [[name, each] as const]
        }),
      )
    },
  }
}
