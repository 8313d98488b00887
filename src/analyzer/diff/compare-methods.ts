import { ACC } from '../bytecode/access-flags.ts'
import { toFqn, typesOfMethod } from '../query/names.ts'
import type { ApiClass, ApiMethod } from './api-class.ts'
import type { Build } from './build.ts'
import type { ChangeList } from './change.ts'
import { inherited, membersOf, type VisibleMember } from './members.ts'
import type { ClassPair } from './class-pair.ts'
import { hasExternalSubclasses, isLess, visibilityOf } from './visibility.ts'

/** Compares the methods and constructors of two versions of a class. */
export function compareMethods({ before, after, builds, all }: ClassPair, changes: ChangeList): void {
  const old = membersOf(builds.old, before, 'methods')
  const now = membersOf(builds.new, after, 'methods')
  const replaced = new Set<string>()
  for (const [key, method] of old) {
    if (!counts(method, all)) continue
    const next = now.get(key)
    if (next === undefined) removed(method, key, { now, old, after, build: builds.new, replaced }, changes)
    else changed(method, next, { before, builds }, changes)
  }
  for (const [key, method] of now) {
    if (old.has(key) || replaced.has(key) || !counts(method, all)) continue
    const isAbstract = (method.flags & ACC.ABSTRACT) !== 0
    const isInterface = (after.flags & ACC.INTERFACE) !== 0
    const kind = isAbstract
      ? isInterface
        ? 'METHOD_ADDED_TO_INTERFACE'
        : 'METHOD_ADDED_ABSTRACT'
      : 'METHOD_ADDED'
    changes.add(kind, {}, method)
  }
}

type Method = VisibleMember<ApiMethod>

function counts({ flags, name, isApi }: Method, all: boolean): boolean {
  return (flags & ACC.SYNTHETIC) === 0 && name !== '<clinit>' && (all || isApi)
}

interface After {
  readonly old: ReadonlyMap<string, Method>
  readonly now: ReadonlyMap<string, Method>
  readonly after: ApiClass
  readonly build: Build
  /** Keys of new methods that are reported as successors of old ones. */
  readonly replaced: Set<string>
}

function removed(
  method: Method,
  key: string,
  { old, now, after, build, replaced }: After,
  changes: ChangeList,
): void {
  const above = method.name === '<init>' ? undefined : inherited(build, after, 'methods', key)
  if (above !== undefined && canReplace(above, method)) {
    changes.add('METHOD_MOVED_UP', {}, method)
    return
  }
  const parameters = method.descriptor.slice(0, method.descriptor.lastIndexOf(')'))
  const successor = [...now].find(
    ([each, { name, descriptor, flags, isApi }]) =>
      name === method.name &&
      name !== '<init>' &&
      descriptor.slice(0, descriptor.lastIndexOf(')')) === parameters &&
      (flags & ACC.SYNTHETIC) === 0 &&
      (isApi || !method.isApi) &&
      !old.has(each),
  )
  if (successor === undefined) {
    changes.add('METHOD_REMOVED', {}, method)
    return
  }
  replaced.add(successor[0])
  const from = typesOfMethod(method.descriptor).returns
  const to = typesOfMethod(successor[1].descriptor).returns
  changes.add('METHOD_RETURN_TYPE_CHANGED', { from, to }, method)
}

/** Whether an inherited method can replace a removed one for its callers and for subclasses. */
function canReplace(above: ApiMethod, { flags }: ApiMethod): boolean {
  return (
    ((above.flags ^ flags) & ACC.STATIC) === 0 &&
    !isLess(visibilityOf(above.flags), visibilityOf(flags)) &&
    ((above.flags & ACC.ABSTRACT) === 0 || (flags & ACC.ABSTRACT) !== 0)
  )
}

function changed(
  old: Method,
  now: Method,
  { before, builds }: Pick<ClassPair, 'before' | 'builds'>,
  changes: ChangeList,
): void {
  const [from, to] = [visibilityOf(old.flags), visibilityOf(now.flags)]
  if (from !== to)
    changes.add(isLess(to, from) ? 'METHOD_LESS_VISIBLE' : 'METHOD_MORE_VISIBLE', { from, to }, old)
  const [was, is] = [flagsOf(old), flagsOf(now)]
  if (was.isStatic !== is.isStatic)
    changes.add(is.isStatic ? 'METHOD_NOW_STATIC' : 'METHOD_NO_LONGER_STATIC', {}, old)
  if (was.isAbstract !== is.isAbstract) changes.add(abstractChange(is.isAbstract, before), {}, old)
  if (was.isFinal !== is.isFinal) {
    const isOverridable = !was.isStatic && hasExternalSubclasses(builds.old, before)
    const kind = isOverridable ? 'METHOD_NOW_FINAL' : 'METHOD_NOW_FINAL_UNEXTENDED'
    changes.add(is.isFinal ? kind : 'METHOD_NO_LONGER_FINAL', {}, old)
  }
  const [thrown, throws] = [exceptionsOf(old), exceptionsOf(now)]
  if (thrown !== throws) changes.add('METHOD_EXCEPTIONS_CHANGED', { from: thrown, to: throws }, old)
}

function abstractChange(isAbstract: boolean, { flags }: ApiClass) {
  if ((flags & ACC.INTERFACE) !== 0) return isAbstract ? 'METHOD_NO_LONGER_DEFAULT' : 'METHOD_NOW_DEFAULT'
  return isAbstract ? 'METHOD_NOW_ABSTRACT' : 'METHOD_NO_LONGER_ABSTRACT'
}

function flagsOf({ flags }: ApiMethod) {
  return {
    isStatic: (flags & ACC.STATIC) !== 0,
    isAbstract: (flags & ACC.ABSTRACT) !== 0,
    isFinal: (flags & ACC.FINAL) !== 0,
  }
}

function exceptionsOf({ exceptions }: ApiMethod): string {
  return exceptions.map(toFqn).toSorted().join(', ')
}
