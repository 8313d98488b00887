import { ACC } from '../bytecode/access-flags.ts'
import type { ApiClass, ApiField, ApiMethod } from './api-class.ts'
import type { Build } from './build.ts'
import { isApi, isReachable, supertypes } from './visibility.ts'

type Kind = 'methods' | 'fields'
type MemberOf<K extends Kind> = K extends 'methods' ? ApiMethod : ApiField

/** A member, and whether other packages can name it by the class in question. */
export type VisibleMember<Member> = Member & { readonly isApi: boolean }

/**
 * The members that a class has for others, by name and descriptor: its own, and those of classes above it that others cannot
 * name, and so reach by this one alone.
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
      // Into a class that can be named compilers put bridges to what one above that cannot has; the latter counts then.
      const isBridged =
        known !== undefined &&
        (known.flags & ~member.flags & ACC.SYNTHETIC) !== 0 &&
        !isOverridden(of, member)
      if (isInherited && (known === undefined || isBridged)) found.set(key, see(member))
    }
  }
  return found
}

/** Whether a class has a method of its own for a name and parameters, whatever it returns. */
function isOverridden({ methods }: ApiClass, { name, descriptor }: ApiMethod | ApiField): boolean {
  const start = descriptor.slice(0, descriptor.lastIndexOf(')') + 1)
  return [...methods.values()].some(
    (own) => own.name === name && own.descriptor.startsWith(start) && (own.flags & ACC.SYNTHETIC) === 0,
  )
}

/** The member that a class inherits under a name and descriptor, the nearest. */
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
