import { TRAIT } from '../bytecode/columns.ts'
import type { Source } from '../index/project-index.ts'
import { packageOf, simpleNameOf } from './names.ts'
import type { Snapshot } from './snapshot.ts'
import { supertypesOf } from './subtypes.ts'

export const ACC = {
  PUBLIC: 0x0001,
  PRIVATE: 0x0002,
  PROTECTED: 0x0004,
  STATIC: 0x0008,
  FINAL: 0x0010,
  BRIDGE: 0x0040,
  VARARGS: 0x0080,
  INTERFACE: 0x0200,
  ABSTRACT: 0x0400,
  SYNTHETIC: 0x1000,
  ANNOTATION: 0x2000,
  ENUM: 0x4000,
  MODULE: 0x8000,
} as const

type ClassType = 'CLASS' | 'INTERFACE' | 'ENUM' | 'ANNOTATION' | 'RECORD'

export interface ClassSummary {
  readonly fqn: string
  readonly simpleName: string
  readonly packageName: string
  readonly source: Source
  readonly type: ClassType
  readonly isInterface: boolean
  readonly isAbstract: boolean
  readonly isEnum: boolean
  readonly isAnnotation: boolean
  readonly isRecord: boolean
  readonly isSealed: boolean
  /** Constructors, static initializers and methods that the compiler made aside. */
  readonly methodCount: number
  readonly fieldCount: number
}

export function classSummary(snapshot: Snapshot, id: number): ClassSummary {
  const { digest, firstClass } = snapshot.index.sliceOf(id)
  const { classes } = digest
  const row = id - firstClass
  const fqn = snapshot.fqnOf(id)
  const flags = classes.accessFlags[row] ?? 0
  const traits = classes.traits[row] ?? 0
  const is = (flag: number): boolean => (flags & flag) !== 0
  // The body of an enum's constant has the flag too, and is none, as for Class.isEnum.
  const isEnum =
    is(ACC.ENUM) && supertypesOf(snapshot, id).superclass === snapshot.index.names.find('java/lang/Enum')
  return {
    fqn,
    simpleName: simpleNameOf(fqn),
    packageName: packageOf(fqn),
    source: snapshot.sourceOf(id),
    type: classType(flags, traits, isEnum),
    isInterface: is(ACC.INTERFACE),
    isAbstract: is(ACC.ABSTRACT),
    isEnum,
    isAnnotation: is(ACC.ANNOTATION),
    isRecord: (traits & TRAIT.RECORD) !== 0,
    isSealed: (traits & TRAIT.SEALED) !== 0,
    methodCount: countMethods(snapshot, id),
    fieldCount: classes.fieldCount[row] ?? 0,
  }
}

function classType(flags: number, traits: number, isEnum: boolean): ClassType {
  if (flags & ACC.ANNOTATION) return 'ANNOTATION'
  if (flags & ACC.INTERFACE) return 'INTERFACE'
  if (isEnum) return 'ENUM'
  return traits & TRAIT.RECORD ? 'RECORD' : 'CLASS'
}

function countMethods(snapshot: Snapshot, id: number): number {
  const { digest, firstClass } = snapshot.index.sliceOf(id)
  const { classes, methods, strings } = digest
  let count = 0
  for (
    let row = classes.firstMethod[id - firstClass] ?? 0;
    row < (classes.firstMethod[id - firstClass + 1] ?? 0);
    row++
  ) {
    const isMade = ((methods.accessFlags[row] ?? 0) & ACC.SYNTHETIC) !== 0
    if (!isMade && strings.bytesOf(methods.name[row] ?? 0)[0] !== '<'.charCodeAt(0)) count++
  }
  return count
}
