/**
 * Returns the URL of a module next to the calling one, with the caller's extension: `.ts` in a checkout, `.js` in `dist`.
 * For modules started by path (child processes, workers), which the compiler does not rewrite.
 *
 * @example siblingModule(import.meta.url, './pool-child')
 */
export function siblingModule(callerUrl: string, path: string): URL {
  return new URL(path + callerUrl.slice(callerUrl.lastIndexOf('.')), callerUrl)
}
