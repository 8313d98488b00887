import type { AlarmClock } from '../clock/clock.ts'
import type { FollowedFiles } from '../fs/followed-files.ts'
import type { Logger } from '../log/logger.ts'

/**
 * Follows the files that a setting names, and logs when they were replaced.
 *
 * @param key of the setting, such as `http.token_file`
 * @returns a function that ends this
 */
export function followSetting<T>(
  key: string,
  files: FollowedFiles<T>,
  { clock, logger }: { readonly clock: AlarmClock; readonly logger: Logger },
  onReplaced: (value: T) => void,
): () => void {
  return files.follow(clock, {
    onChange(value) {
      logger.info(`the file of ${key} was replaced, and is now used`)
      onReplaced(value)
    },
    onProblem: (error) =>
      logger.warn(
        { err: error },
        `the file of ${key} was replaced, but is not usable; the previous content is used`,
      ),
  })
}
