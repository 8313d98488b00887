/** For the catch of a call on a path that may be gone: undefined then; any other error is thrown on. */
export function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
