/**
 * Returns a handler for a promise whose failure changes nothing: `.catch(ignore('the file may be gone'))`.
 *
 * @param _reason why nobody needs to know of the failure
 * @param instead the value that the promise then resolves to
 */
export function ignore(_reason: string): () => undefined
export function ignore<T>(_reason: string, instead: T): () => T
export function ignore<T>(_reason: string, instead?: T): () => T | undefined {
  return () => instead
}
