import { ACC } from '../bytecode/access-flags.ts'
import { toFqn, typeOfDescriptor } from '../query/names.ts'
import type { ApiClass } from './api-class.ts'
import type { ChangeList } from './change.ts'
import type { ClassPair } from './class-pair.ts'
import { isExtensible, isLess, supertypes, visibilityOf } from './visibility.ts'

/** Compares two versions of a class itself, without its members. */
export function compareClasses(pair: ClassPair, changes: ChangeList): void {
  const { before, after } = pair
  const [was, is] = [kindOf(before), kindOf(after)]
  const isInterfaceChange = ((before.flags ^ after.flags) & ACC.INTERFACE) !== 0
  // Between enum, record and class only the supertypes matter, which are compared below.
  if (isInterfaceChange) changes.add('CLASS_KIND_CHANGED', { from: was, to: is })
  const [from, to] = [visibilityOf(before.flags), visibilityOf(after.flags)]
  if (from !== to) changes.add(isLess(to, from) ? 'CLASS_LESS_VISIBLE' : 'CLASS_MORE_VISIBLE', { from, to })
  if (!isInterfaceChange) compareModifiers(pair, changes)
  comparePermitted(pair, changes)
  compareSupertypes(pair, changes)
  if (before.retention !== undefined && after.retention !== undefined && before.retention !== after.retention)
    changes.add('RETENTION_CHANGED', { from: before.retention, to: after.retention })
  compareComponents(pair, changes)
}

function kindOf({ flags, components }: ApiClass): string {
  if (flags & ACC.ANNOTATION) return 'annotation'
  if (flags & ACC.INTERFACE) return 'interface'
  if (flags & ACC.ENUM) return 'enum'
  return components === undefined ? 'class' : 'record'
}

function compareModifiers({ before, after }: ClassPair, changes: ChangeList): void {
  const is = (flag: number): boolean => (after.flags & flag) !== 0
  const differs = (flag: number): boolean => ((before.flags ^ after.flags) & flag) !== 0
  const isInterface = is(ACC.INTERFACE)
  // The compiler marks an enum with constant bodies as not final or as abstract, which has no effect on
  // users.
  const isEnum = is(ACC.ENUM) && (before.flags & ACC.ENUM) !== 0
  if (differs(ACC.ABSTRACT) && !isInterface && !isEnum)
    changes.add(is(ACC.ABSTRACT) ? 'CLASS_NOW_ABSTRACT' : 'CLASS_NO_LONGER_ABSTRACT')
  if (differs(ACC.FINAL) && !isEnum) {
    const kind = isExtensible(before) ? 'CLASS_NOW_FINAL' : 'CLASS_NOW_FINAL_UNEXTENDED'
    changes.add(is(ACC.FINAL) ? kind : 'CLASS_NO_LONGER_FINAL')
  }
  if (differs(ACC.STATIC) && !isInterface) {
    const [from, to] = is(ACC.STATIC) ? ['inner', 'static'] : ['static', 'inner']
    changes.add('CLASS_STATIC_CHANGED', { from, to })
  }
}

function comparePermitted({ before, after }: ClassPair, changes: ChangeList): void {
  if ((after.flags & ACC.ENUM) !== 0) return
  const [old, now] = [before.permitted, after.permitted]
  if (old === undefined && now !== undefined) {
    if (isExtensible(before)) changes.add('CLASS_NOW_SEALED', { to: list(now) })
  } else if (old !== undefined && now === undefined)
    changes.add('CLASS_NO_LONGER_SEALED', { from: list(old) })
  else if (old !== undefined && now !== undefined) {
    for (const name of old)
      if (!now.includes(name)) changes.add('PERMITTED_SUBCLASS_REMOVED', { from: toFqn(name) })
    for (const name of now)
      if (!old.includes(name)) changes.add('PERMITTED_SUBCLASS_ADDED', { to: toFqn(name) })
  }
}

function list(names: readonly string[]): string {
  return names.map(toFqn).toSorted().join(', ')
}

/** Compares supertypes at any depth; by which path a class inherits them does not matter. */
function compareSupertypes({ before, after, builds }: ClassPair, changes: ChangeList): void {
  const above = new Set(supertypes(builds.new, after))
  const was = new Set(supertypes(builds.old, before))
  if (before.superName !== after.superName && before.superName !== undefined) {
    const lost = superclasses(before.superName, builds.old).filter((name) => !above.has(name))
    const values = { from: toFqn(before.superName), to: toFqn(after.superName ?? 'java/lang/Object') }
    changes.add(lost.length === 0 ? 'SUPERCLASS_CHANGED' : 'SUPERCLASS_LOST', values)
  }
  for (const name of was)
    if (isInterfaceOf(builds.old, name) && !above.has(name))
      changes.add('INTERFACE_LOST', { from: toFqn(name) })
  for (const name of before.interfaces)
    if (!after.interfaces.includes(name) && above.has(name))
      changes.add('INTERFACE_MOVED', { from: toFqn(name) })
  for (const name of after.interfaces)
    if (!before.interfaces.includes(name) && !was.has(name))
      changes.add('INTERFACE_ADDED', { to: toFqn(name) })
}

/** Returns a superclass and its superclasses, without java.lang.Object, which all classes share. */
function superclasses(first: string, build: ClassPair['builds']['old']): readonly string[] {
  const found: string[] = []
  for (let name: string | undefined = first; name !== undefined && !found.includes(name);) {
    if (name !== 'java/lang/Object') found.push(name)
    name = build.find(name)?.superName
  }
  return found
}

/** An external type may only be known as an interface from where it is used. */
function isInterfaceOf(build: ClassPair['builds']['old'], name: string): boolean {
  const found = build.find(name)
  if (found !== undefined) return (found.flags & ACC.INTERFACE) !== 0
  return [...build.classes.values()].some(({ interfaces }) => interfaces.includes(name))
}

function compareComponents({ before, after }: ClassPair, changes: ChangeList): void {
  if (before.components === undefined || after.components === undefined) return
  const [from, to] = [formatComponents(before.components), formatComponents(after.components)]
  if (from === to) return
  const constructor = `<init> (${before.components.map(({ descriptor }) => descriptor).join('')})V`
  const isKept = after.methods.has(constructor)
  changes.add(isKept ? 'RECORD_COMPONENTS_EXTENDED' : 'RECORD_COMPONENTS_CHANGED', { from, to })
}

function formatComponents(components: NonNullable<ApiClass['components']>): string {
  return components.map(({ name, descriptor }) => `${typeOfDescriptor(descriptor)} ${name}`).join(', ')
}
