import { rows } from '../../bytecode/facts.ts'
import { lineOf, toFqn, typesOfMethod } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { sourceFileOf } from '../source-file-of.ts'
import type { Rule, SEVERITIES } from './rule-set.ts'

/** A member of a class; null for the class itself. */
type MemberOf = { readonly name: string; readonly descriptor: string | null } | null

/** A violation of a rule, before it is described. */
export interface Found {
  readonly classId: number
  readonly member: MemberOf
  readonly lineNumber: number | null
  /** Class, member or slice that the rule forbids or demands. */
  readonly target: string
  /** Describes the violation, starting with a verb: "uses java.sql.Connection". */
  readonly what: string
  /** Replaces the class and member in a baseline, for a dependency between slices. */
  readonly label?: string
}

/** A violation of a rule. */
export interface Violation {
  readonly ruleId: string
  readonly severity: (typeof SEVERITIES)[number]
  readonly reason: string
  readonly classFqn: string
  /** Field or method; null for the class itself. */
  readonly member: string | null
  readonly descriptor: string | null
  /** Source file of the class, relative to its source folder; null if the class file names none. */
  readonly sourceFile: string | null
  readonly lineNumber: number | null
  readonly target: string
  readonly message: string
  /** Identifies the violation in a baseline. */
  readonly key: string
  readonly isFrozen: boolean
}

/** Describes a violation. */
export function violationView(
  snapshot: Snapshot,
  { id, reason, severity = 'error' }: Rule,
  found: Found,
  isFrozen: boolean,
): Violation {
  const { classId, member, lineNumber, target, what } = found
  const classFqn = snapshot.fqnOf(classId)
  return {
    ruleId: id,
    severity,
    reason,
    classFqn,
    member: member?.name ?? null,
    descriptor: member?.descriptor ?? null,
    sourceFile: sourceFileOf(snapshot, classId),
    lineNumber,
    target,
    message: `${labelOf(classFqn, member)} ${what}`,
    key: keyOf(snapshot, id, found),
    isFrozen,
  }
}

/**
 * Returns a text that identifies a violation without line numbers. Compilers number anonymous classes and
 * lambdas by position, so these numbers are left out too. Names in class files can have control characters.
 */
export function keyOf(snapshot: Snapshot, ruleId: string, found: Found): string {
  const { classId, member, target, label = labelOf(snapshot.fqnOf(classId), member) } = found
  return `${ruleId} ${label} -> ${target}`.replaceAll(/\$\d+/g, '$').replaceAll(/\p{Cc}/gu, '?')
}

function labelOf(classFqn: string, member: MemberOf): string {
  if (member === null) return classFqn
  const { name, descriptor } = member
  const parameters = descriptor === null ? '' : `(${typesOfMethod(descriptor).parameters.join(',')})`
  return `${classFqn}#${name}${parameters}`
}

/** Methods of a class, with their lines, which are read when they are first needed. */
export class SourceMembers {
  readonly #snapshot: Snapshot
  readonly #classId: number
  /** First lines by name and descriptor. */
  #lines: ReadonlyMap<string, number | null> | undefined

  constructor(snapshot: Snapshot, classId: number) {
    this.#snapshot = snapshot
    this.#classId = classId
  }

  #readLines(): ReadonlyMap<string, number | null> {
    const slice = this.#snapshot.index.sliceOf(this.#classId)
    const { classes, methods, strings } = this.#snapshot.facts(slice)
    return new Map(
      rows(classes.firstMethod, this.#classId - slice.firstClass).map((method) => {
        const name = strings.get(methods.name[method] ?? 0)
        const descriptor = strings.get(methods.descriptor[method] ?? 0)
        return [`${name}${descriptor}`, lineOf(methods.firstLine[method])]
      }),
    )
  }

  /** Returns the members of a class, which may be those of the last one. */
  static of(snapshot: Snapshot, classId: number, last: SourceMembers | undefined): SourceMembers {
    const isSame = last !== undefined && last.#classId === classId
    return isSame ? last : new SourceMembers(snapshot, classId)
  }

  /** Returns a member with a line; the one of the whole method if `lineNumber` is unknown. */
  place(
    member: string | null,
    descriptor: string | null,
    lineNumber: number | null,
  ): Pick<Found, 'member' | 'lineNumber'> {
    if (member === null) return { member: null, lineNumber }
    const place = { name: member, descriptor }
    if (lineNumber !== null || descriptor === null) return { member: place, lineNumber }
    this.#lines ??= this.#readLines()
    return { member: place, lineNumber: this.#lines.get(`${member}${descriptor}`) ?? null }
  }
}

/** Returns the name of a type, which need not be on the class path. */
export function typeName({ index }: Snapshot, name: number): string {
  return toFqn(index.names.get(name))
}
