/** An error in the current class file, with its byte offset (0 if unknown). */
export class ClassFormatError extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}
