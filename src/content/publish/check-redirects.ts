import { readFile } from 'node:fs/promises'
import { fault } from '../errors.ts'
import { MAX_REDIRECTS_BYTES, REDIRECTS_FILE, RedirectRules } from '../page/redirect-rules.ts'
import { type LocalFile, locationOf } from './list-folder.ts'

const SHOWN = 5

/**
 * Checks the file of redirects among files to publish, and returns the number of its rules.
 *
 * @throws PUBLISH_INVALID when a line is not a valid rule
 */
export async function checkRedirects(files: readonly LocalFile[]): Promise<number> {
  const found = files.find(({ path }) => path === REDIRECTS_FILE)
  if (found === undefined) return 0
  if (found.size > MAX_REDIRECTS_BYTES)
    throw fault('PUBLISH_INVALID', `${REDIRECTS_FILE} has more than ${MAX_REDIRECTS_BYTES / 1024} KiB`)
  const { rules, mistakes } = RedirectRules.parse(await readFile(locationOf(found), 'utf8'))
  if (mistakes.length === 0) return rules.size
  const shown = mistakes.slice(0, SHOWN).map(({ line, message }) => `line ${line}: ${message}`)
  const more = mistakes.length > SHOWN ? [`${mistakes.length - SHOWN} more`] : []
  throw fault('PUBLISH_INVALID', `${REDIRECTS_FILE} is not valid: ${[...shown, ...more].join('; ')}`)
}
