import { ACC } from '../bytecode/access-flags.ts'
import type { ApiClass, ApiField, ApiMethod } from './api-class.ts'
import type { Build } from './build.ts'
import { isApi, isReachable, supertypes } from './visibility.ts'

type Kind = 'methods' | 'fields'
type MemberOf<K extends Kind> = K extends 'methods' ? ApiMethod : ApiField

/** A member, and whether other packages can use it through the class in question. */
export type VisibleMember<Member> = Member & { readonly isApi: boolean }

/**
 * Returns the members that a class offers to others, by name and descriptor: its own, and those of
 * superclasses that others cannot name and therefore reach only through this class.
 */
export function membersOf<K extends Kind>(
  build: Build,
  of: ApiClass,
  kind: K,
): Map<string, VisibleMember<MemberOf<K>>> {
  const see = (member: MemberOf<K>): VisibleMember<MemberOf<K>> => ({
    ...member,
    isApi: isReachable(build, of, member),
  })
  const own = of[kind] as ReadonlyMap<string, MemberOf<K>>
  const found = new Map([...own].map(([key, member]) => [key, see(member)]))
  for (const name of supertypes(build, of)) {
    const above = build.classes.get(name)
    if (above === undefined || isApi(build, above)) continue
    for (const [key, member] of above[kind] as ReadonlyMap<string, MemberOf<K>>) {
      const isInherited = member.name !== '<init>' && (member.flags & ACC.PRIVATE) === 0
      const known = found.get(key)
      // Compilers add bridges to a visible class for the methods of an invisible superclass; the original
      // method counts. A bridge to an abstract one implements it.
      const isBridged =
        known !== undefined &&
        (known.flags & ~member.flags & ACC.SYNTHETIC) !== 0 &&
        (member.flags & ACC.ABSTRACT) === 0 &&
        !isOverridden(of, member)
      if (isInherited && (known === undefined || isBridged)) found.set(key, see(member))
    }
  }
  return found
}

/** Whether a class itself declares a method with a name and parameters, with any return type. */
function isOverridden({ methods }: ApiClass, { name, descriptor }: ApiMethod | ApiField): boolean {
  const start = descriptor.slice(0, descriptor.lastIndexOf(')') + 1)
  return [...methods.values()].some(
    (own) => own.name === name && own.descriptor.startsWith(start) && (own.flags & ACC.SYNTHETIC) === 0,
  )
}

/** Returns the nearest inherited member with a name and descriptor. */
export function inherited<K extends Kind>(
  build: Build,
  by: ApiClass,
  kind: K,
  key: string,
): MemberOf<K> | undefined {
  for (const name of supertypes(build, by)) {
    const member = (build.find(name)?.[kind] as ReadonlyMap<string, MemberOf<K>> | undefined)?.get(key)
    if (member !== undefined && (member.flags & ACC.PRIVATE) === 0) return member
  }
  return undefined
}
