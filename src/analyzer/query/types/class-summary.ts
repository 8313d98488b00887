import { ACC } from '../../bytecode/access-flags.ts'
import { TRAIT } from '../../bytecode/columns.ts'
import type { Source } from '../../classpath/source.ts'
import { packageOf, simpleNameOf } from '../names.ts'
import type { Snapshot } from '../snapshot.ts'
import { supertypesOf } from './subtypes.ts'

type ClassType = 'CLASS' | 'INTERFACE' | 'ENUM' | 'ANNOTATION' | 'RECORD'

/** A class without its members. */
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
  /** Excludes constructors, static initializers and synthetic methods. */
  readonly methodCount: number
  readonly fieldCount: number
}

/** Returns the summary of a class. */
export function classSummary(snapshot: Snapshot, id: number): ClassSummary {
  const { digest, firstClass } = snapshot.index.sliceOf(id)
  const { classes } = digest
  const row = id - firstClass
  const fqn = snapshot.fqnOf(id)
  const flags = classes.accessFlags[row] ?? 0
  const traits = classes.traits[row] ?? 0
  const is = (flag: number): boolean => (flags & flag) !== 0
  // The body of an enum constant has the flag too but is not an enum, as for Class.isEnum.
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
    methodCount: classes.methodCount[row] ?? 0,
    fieldCount: classes.fieldCount[row] ?? 0,
  }
}

function classType(flags: number, traits: number, isEnum: boolean): ClassType {
  if (flags & ACC.ANNOTATION) return 'ANNOTATION'
  if (flags & ACC.INTERFACE) return 'INTERFACE'
  if (isEnum) return 'ENUM'
  return traits & TRAIT.RECORD ? 'RECORD' : 'CLASS'
}
