/** A step on the path from a source file to a class in it. */
export interface ClassStep {
  readonly is: 'top' | 'member' | 'local' | 'anonymous'
  /** Name in source; "" for an anonymous class. */
  readonly name: string
  /** The number in a local or anonymous class's binary name, from 1. */
  readonly ordinal: number
  /** Lines of its code according to the class file, from 1; 0 if unknown. */
  readonly firstLine: number
  readonly lastLine: number
}
