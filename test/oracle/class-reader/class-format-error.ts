/** What is wrong with the class file being read, and at which of its bytes (0: not known). */
export class ClassFormatError extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}
