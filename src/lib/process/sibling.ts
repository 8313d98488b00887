/**
 * The URL of a module beside the calling one, in the form the caller runs as: `.ts` in a checkout, `.js` in `dist`.
 * For modules that are started by path (child processes, workers) and so are beyond the compiler's rewriting.
 *
 * @example siblingModule(import.meta.url, './pool-child')
 */
export function siblingModule(callerUrl: string, path: string): URL {
  return new URL(path + callerUrl.slice(callerUrl.lastIndexOf('.')), callerUrl)
}
