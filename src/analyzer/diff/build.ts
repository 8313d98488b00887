import { existsSync } from 'node:fs'
import { findJvm } from '../project/find-jvm.ts'
import type { ClassContainer } from '../classpath/class-container.ts'
import { listClasses } from '../classpath/list-classes.ts'
import { readClasses } from '../classpath/read-classes.ts'
import { fault } from '../errors.ts'
import { ACC } from '../bytecode/access-flags.ts'
import { type ApiClass, apiClass } from './api-class.ts'

/** Number of classes read per call. */
const SLICE = 512

/** All classes of a build, and the external supertypes that can be found. */
export interface Build {
  readonly path: string
  /** By internal name. */
  readonly classes: ReadonlyMap<string, ApiClass>
  /** Returns a class of the build or of the JDK. */
  readonly find: (name: string) => ApiClass | undefined
  /** Class files that could not be read. */
  readonly problems: readonly string[]
}

/** Finds JDK classes by internal name. */
export type FindExternalClasses = (names: ReadonlySet<string>) => Promise<ReadonlyMap<string, ApiClass>>

/** Reads a jar or class folder. @throws BAD_REQUEST when it does not exist or has no classes */
export async function readBuild(
  path: string,
  findExternal: FindExternalClasses,
  release: number,
): Promise<Build> {
  if (!existsSync(path)) throw fault('BAD_REQUEST', `"${path}" does not exist; give a jar or class folder`)
  const { containers, problems } = listClasses(path, release)
  const classes = new Map<string, ApiClass>()
  const bad = problems.map(({ path: where, message }) => `${where}: ${message}`)
  for (const container of containers) {
    for (let first = 0; first < container.classes.length; first += SLICE) {
      const slice = await readClasses(container, container.classes.slice(first, first + SLICE))
      bad.push(...slice.problems.map(({ path: where, message }) => `${where}: ${message}`))
      for (const row of slice.facts.classes.name.keys()) {
        const each = apiClass(slice.facts, row)
        // The first class of a name counts, as for the JVM.
        if ((each.flags & ACC.MODULE) === 0 && !classes.has(each.name)) classes.set(each.name, each)
      }
    }
  }
  if (classes.size === 0)
    throw fault('BAD_REQUEST', `"${path}" contains no classes${bad[0] === undefined ? '' : `: ${bad[0]}`}`)
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

/** Returns a function that reads JDK classes, each once and on demand. */
export function jdkClasses(
  jvmHome: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): { readonly find: FindExternalClasses; readonly release: number } {
  const jvm = findJvm(jvmHome, environment)
  const cache = new Map<string, ApiClass>()
  let containers: readonly ClassContainer[] | undefined
  return {
    // Without a JVM, the newest classes of a multi-release jar count.
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
