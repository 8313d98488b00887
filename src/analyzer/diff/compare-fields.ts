import { ACC } from '../bytecode/access-flags.ts'
import { typeOfDescriptor } from '../query/names.ts'
import type { ApiField } from './api-class.ts'
import type { ChangeList } from './change.ts'
import { inherited, membersOf, type VisibleMember } from './members.ts'
import type { ClassPair } from './class-pair.ts'
import { isLess, visibilityOf } from './visibility.ts'

/** Compares the fields of two versions of a class, including enum constants. */
export function compareFields({ before, after, builds, all }: ClassPair, changes: ChangeList): void {
  const old = membersOf(builds.old, before, 'fields')
  const now = membersOf(builds.new, after, 'fields')
  const replaced = new Set<string>()
  const counts = ({ flags, isApi }: VisibleMember<ApiField>): boolean =>
    (flags & ACC.SYNTHETIC) === 0 && (all || isApi)
  for (const [key, field] of old) {
    if (!counts(field)) continue
    const next = now.get(key)
    if (next !== undefined) {
      changed(field, next, changes)
      continue
    }
    const above = inherited(builds.new, after, 'fields', key)
    const successor = [...now].find(
      ([each, { name, isApi }]) => name === field.name && !old.has(each) && (isApi || !field.isApi),
    )
    if (above !== undefined && canReplace(above, field)) changes.add('FIELD_MOVED_UP', {}, field)
    else if (successor !== undefined) {
      replaced.add(successor[0])
      const [from, to] = [typeOfDescriptor(field.descriptor), typeOfDescriptor(successor[1].descriptor)]
      changes.add('FIELD_TYPE_CHANGED', { from, to }, field)
    } else changes.add(isConstant(field) ? 'ENUM_CONSTANT_REMOVED' : 'FIELD_REMOVED', {}, field)
  }
  for (const [key, field] of now)
    if (!old.has(key) && !replaced.has(key) && counts(field))
      changes.add(isConstant(field) ? 'ENUM_CONSTANT_ADDED' : 'FIELD_ADDED', {}, field)
}

function isConstant({ flags }: ApiField): boolean {
  return (flags & ACC.ENUM) !== 0
}

function canReplace(above: ApiField, { flags }: ApiField): boolean {
  return (
    (above.flags & (ACC.STATIC | ACC.FINAL)) === (flags & (ACC.STATIC | ACC.FINAL)) &&
    !isLess(visibilityOf(above.flags), visibilityOf(flags))
  )
}

function changed(old: VisibleMember<ApiField>, now: ApiField, changes: ChangeList): void {
  const [from, to] = [visibilityOf(old.flags), visibilityOf(now.flags)]
  if (from !== to)
    changes.add(isLess(to, from) ? 'FIELD_LESS_VISIBLE' : 'FIELD_MORE_VISIBLE', { from, to }, old)
  const is = (flag: number): boolean => (now.flags & flag) !== 0
  const differs = (flag: number): boolean => ((old.flags ^ now.flags) & flag) !== 0
  if (differs(ACC.STATIC))
    changes.add(is(ACC.STATIC) ? 'FIELD_NOW_STATIC' : 'FIELD_NO_LONGER_STATIC', {}, old)
  if (differs(ACC.FINAL)) changes.add(is(ACC.FINAL) ? 'FIELD_NOW_FINAL' : 'FIELD_NO_LONGER_FINAL', {}, old)
  if (old.constant !== now.constant) {
    const values = { from: old.constant ?? 'no constant', to: now.constant ?? 'no constant' }
    changes.add('FIELD_CONSTANT_CHANGED', values, old)
  }
}
