import { ACC } from '../bytecode/access-flags.ts'
import type { ApiClass } from './api-class.ts'
import type { Build } from './build.ts'

/** Visibility of a class or member. */
export type Visibility = 'public' | 'protected' | 'package' | 'private'

const RANK: Readonly<Record<Visibility, number>> = { private: 0, package: 1, protected: 2, public: 3 }

/** Returns the visibility that access flags express. */
export function visibilityOf(flags: number): Visibility {
  if (flags & ACC.PUBLIC) return 'public'
  if (flags & ACC.PROTECTED) return 'protected'
  return flags & ACC.PRIVATE ? 'private' : 'package'
}

/** Whether a visibility is lower than before. */
export function isLess(now: Visibility, before: Visibility): boolean {
  return RANK[now] < RANK[before]
}

/** Whether code of other packages may use it: public and protected. */
function isOpen(flags: number): boolean {
  return (flags & (ACC.PUBLIC | ACC.PROTECTED)) !== 0
}

/** Whether code of other packages can name a class: it and all enclosing classes are public or protected. */
export function isApi(build: Build, each: ApiClass): boolean {
  if (!isOpen(each.flags) || each.isNameless || (each.flags & ACC.SYNTHETIC) !== 0) return false
  if (each.outerClass === undefined) return true
  const outer = build.find(each.outerClass)
  return outer !== undefined && outer !== each && isApi(build, outer)
}

/** Whether code of other packages can extend a class: JLS 13.4.2 and 8.8.10. */
export function isExtensible({ flags, permitted, methods }: ApiClass): boolean {
  if ((flags & ACC.FINAL) !== 0 || permitted !== undefined) return false
  if ((flags & ACC.INTERFACE) !== 0) return true
  return [...methods.values()].some((method) => method.name === '<init>' && isOpen(method.flags))
}

const extended = new WeakMap<Build, ReadonlySet<string>>()

/**
 * Whether subclasses in other packages can inherit from a class: it or an API subclass of it can be extended.
 */
export function hasExternalSubclasses(build: Build, { name }: ApiClass): boolean {
  let names = extended.get(build)
  if (names === undefined) {
    const open = [...build.classes.values()].filter((each) => isApi(build, each) && isExtensible(each))
    names = new Set(open.flatMap((each) => [each.name, ...supertypes(build, each)]))
    extended.set(build, names)
  }
  return names.has(name)
}

/** Whether other packages can use a member of a class: a protected one only if they can have subclasses. */
export function isReachable(build: Build, owner: ApiClass, { flags }: { readonly flags: number }): boolean {
  return (flags & ACC.PUBLIC) !== 0 || ((flags & ACC.PROTECTED) !== 0 && hasExternalSubclasses(build, owner))
}

/** Returns all supertypes of a class, superclasses first, nearest first. */
export function supertypes(build: Build, each: ApiClass): readonly string[] {
  const found = new Set<string>()
  const waiting = [each]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    for (const name of [...(next.superName === undefined ? [] : [next.superName]), ...next.interfaces]) {
      if (found.has(name) || name === each.name) continue
      found.add(name)
      const above = build.find(name)
      if (above !== undefined) waiting.push(above)
    }
  }
  return [...found]
}
