import { nearest } from '../../../lib/config/nearest.ts'
import { ACC } from '../../bytecode/access-flags.ts'
import { type Facts, rows } from '../../bytecode/facts.ts'
import { fault } from '../../errors.ts'
import { toFqn } from '../names.ts'
import { suggestion } from '../similar-names.ts'
import type { Snapshot } from '../snapshot.ts'

interface RequestedMethod {
  /** Ids of type names. */
  readonly owner: number
  readonly above: ReadonlySet<number>
  readonly name: string
  readonly descriptor: string | undefined
}

/**
 * Rejects a method that neither its owner nor a supertype declares. @throws METHOD_NOT_FOUND with a
 * suggestion
 */
export function checkMethod(snapshot: Snapshot, { owner, above, name, descriptor }: RequestedMethod): void {
  const types = [owner, ...above].map((type) => declaredIn(snapshot, type))
  const methods = types.flatMap((type) => type?.methods ?? [])
  const same = methods.filter((method) => method.name === name)
  const written = methods.filter(({ isMade }) => !isMade)
  if (same.some((method) => descriptor === undefined || method.descriptor === descriptor)) return
  const fqn = toFqn(snapshot.index.names.get(owner))
  if (same.length > 0) {
    const named = written.filter((method) => method.name === name)
    const overloads = [...new Set(named.map((method) => method.descriptor))].join(', ')
    throw fault('METHOD_NOT_FOUND', `${fqn}#${name} has no overload ${descriptor}; it has ${overloads}`)
  }
  if (types.some((type) => type?.fields.includes(name) === true)) {
    throw fault('METHOD_NOT_FOUND', `${fqn}#${name} is a field, not a method`)
  }
  const meant = nearest(name, new Set(written.map((method) => method.name)))
  const similar = suggestion(meant === undefined ? [] : [`${fqn}#${meant}`])
  const unknown = [owner, ...above].filter((_, at) => types[at] === undefined)
  const unread = unknown.map((type) => toFqn(snapshot.index.names.get(type))).join(', ')
  throw fault(
    'METHOD_NOT_FOUND',
    `neither ${fqn} nor a supertype declares a method "${name}", and nothing calls one${similar}${unread === '' ? '' : ` (not on the class path: ${unread})`}`,
  )
}

/** Returns a type's members, or undefined if it is not on the class path. */
function declaredIn(snapshot: Snapshot, type: number) {
  const id = snapshot.index.findByNameId(type)
  if (id === undefined) return undefined
  const slice = snapshot.index.sliceOf(id)
  return membersOf(snapshot.facts(slice), id - slice.firstClass)
}

function membersOf({ classes, fields, methods, strings }: Facts, row: number) {
  return {
    fields: rows(classes.firstField, row).map((field) => strings.get(fields.name[field] ?? 0)),
    methods: rows(classes.firstMethod, row).map((method) => ({
      name: strings.get(methods.name[method] ?? 0),
      descriptor: strings.get(methods.descriptor[method] ?? 0),
      isMade: ((methods.accessFlags[method] ?? 0) & ACC.SYNTHETIC) !== 0,
    })),
  }
}
