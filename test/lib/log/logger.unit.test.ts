import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'

test('an event with several fields is one line on a terminal', () => {
  const destination = new PassThrough({ encoding: 'utf8' })
  const logger = createLogger({ level: 'info', format: 'pretty', destination })
  logger.info({ process: 'web', status: 'running', reason: 'two\nlines' }, 'web is running')
  logger.info('next')
  const lines = stripVTControlCharacters(String(destination.read())).replaceAll(/\[[\d:]+\] /g, '')
  expect(lines).toBe(
    'INFO: web is running {"process":"web","status":"running","reason":"two\\nlines"}\nINFO: next\n',
  )
})
