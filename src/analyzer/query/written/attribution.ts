import type { ReferenceKind } from '../../choices.ts'

/** The class itself as the place of code. */
export const CLASS_ITSELF = -1

/** Instead of a class, if code counts for none. */
export const NOWHERE = -1

/** Where code counts. */
export interface Place {
  readonly classId: number
  /** Row of the method in the slice's facts, or CLASS_ITSELF. */
  readonly method: number
  /** Whether the code is in the body of a lambda. */
  readonly isInLambda: boolean
  /** Line that uses the code if it is in another class, which has other lines. */
  readonly line?: number | null
}

/** A member that code names; `owner` is the internal name of its class. */
export interface Called {
  readonly owner: string
  readonly name: string
  readonly descriptor: string
  /** Number of arguments before those of the written method: an accessor gets its object as the first. */
  readonly receivers?: number
}

/** Maps each class and method to the code that a person wrote, for which it counts. */
export interface Attribution {
  /** Whether a method is not written: an answer does not name it. */
  isMade(classId: number, method: number): boolean
  /** Returns where a method's code counts; nowhere if it repeats other code. */
  placesOf(classId: number, method: number): readonly Place[]
  /** Whether a method only passes its call on to the one that it stands for, as a bridge does. */
  isAlias(classId: number, method: number): boolean
  /** Whether a call only passes on that of the method that contains it, as in a bridge. */
  isDelegation(classId: number, method: number, call: number): boolean
  /** Returns the class that a class counts for, or NOWHERE. */
  classOf(classId: number): number
  /** Returns the classes that count for a class, itself first. */
  partsOf(classId: number): readonly number[]
  /** Returns a class and those in which a compiler put code that can count for it. */
  sharersFor(classId: number): readonly number[]
  /**
   * Returns the written method or field that a called one stands for; itself if it is written, or is a bridge by
   * which its class has the method of another.
   */
  calledAs(called: Called): Called
  /**
   * Whether the digest of a class can have another number of calls of methods with a name than count for the
   * class.
   */
  isCallCountedElsewhere(classId: number, name: number): boolean
  /** Whether the same is true of uses of a type. */
  isUseCountedElsewhere(classId: number, type: number, kind: ReferenceKind): boolean
}

/** Takes every class and method as it was compiled. */
export const AS_COMPILED: Attribution = {
  isMade: () => false,
  placesOf: (classId, method) => [{ classId, method, isInLambda: false }],
  isAlias: () => false,
  isDelegation: () => false,
  classOf: (classId) => classId,
  partsOf: (classId) => [classId],
  sharersFor: (classId) => [classId],
  calledAs: (called) => called,
  isCallCountedElsewhere: () => false,
  isUseCountedElsewhere: () => false,
}
