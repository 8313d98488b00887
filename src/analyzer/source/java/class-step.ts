/** One step on the way from a source file to a class in it. */
export interface ClassStep {
  readonly is: 'top' | 'member' | 'local' | 'anonymous'
  /** As in the source; "" for an anonymous class. */
  readonly name: string
  /** The number in a local or anonymous class's binary name, from 1. */
  readonly ordinal: number
  /** Lines of its code, from 1, where its class file tells them; 0 elsewhere. */
  readonly firstLine: number
  readonly lastLine: number
}
