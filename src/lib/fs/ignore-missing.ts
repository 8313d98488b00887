/** Catch handler for paths that may not exist: returns undefined for ENOENT and rethrows any other error. */
export function ignoreMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}
