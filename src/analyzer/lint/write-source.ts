import { messageOf } from '../../lib/errors/message.ts'
import { ConcurrentEditError, type ReadSource, replaceSource } from './source-file.ts'
import { fileIssue, type StyleIssue } from './style-issue.ts'

/** Replaces a source file if it is unchanged; returns what prevented this as an issue. */
export async function writeSource(
  path: string,
  text: string,
  { stat }: ReadSource,
): Promise<StyleIssue | undefined> {
  try {
    await replaceSource(path, text, stat)
    return undefined
  } catch (error) {
    if (error instanceof ConcurrentEditError) return fileIssue('changed', `${error.message}; format it again`)
    return fileIssue('write', `it cannot be written: ${messageOf(error)}`)
  }
}
