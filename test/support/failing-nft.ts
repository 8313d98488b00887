import { writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { tempDir } from './temp-dir.ts'

/** Makes every `nft` of this process fail until the test ends, or until the returned function is called. */
export function failingNft(): () => void {
  const directory = tempDir()
  const script = '#!/bin/sh\necho "planted failure" >&2\nexit 1\n'
  writeFileSync(join(directory, 'nft'), script, { mode: 0o755 })
  const path = process.env['PATH'] ?? ''
  process.env['PATH'] = `${directory}${delimiter}${path}`
  const mend = (): void => void (process.env['PATH'] = path)
  onTestFinished(mend)
  return mend
}
