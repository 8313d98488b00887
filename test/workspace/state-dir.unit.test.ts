import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createLogger } from '../../src/lib/log/logger.ts'
import { openStateDir } from '../../src/workspace/state-dir.ts'
import { tempDir } from '../support/temp-dir.ts'

const logger = createLogger({ level: 'silent', format: 'json' })

test('a state directory records its format, and an older one without it is adopted', async () => {
  const dir = join(tempDir(), 'state')
  const { serverId, release } = await openStateDir(dir, logger)
  await release()
  expect(readdirSync(dir).toSorted()).toEqual(['format', 'lock', 'server-id'])
  const again = await openStateDir(dir, logger)
  expect(again.serverId).toBe(serverId)
  await again.release()
})

test('a state directory written by a newer version is refused and unlocked', async () => {
  const dir = tempDir()
  writeFileSync(join(dir, 'format'), '2\n')
  for (let times = 0; times < 2; times++) {
    await expect(openStateDir(dir, logger)).rejects.toMatchObject({
      code: 'STATE_DIR_UNUSABLE',
      message: expect.stringContaining('has format 2, but this program supports up to 1'),
    })
  }
  expect(readdirSync(dir).toSorted()).toEqual(['format', 'lock'])
})

test('F1 a state directory keeps no temporary file of a killed server', async () => {
  const dir = tempDir()
  mkdirSync(join(dir, 'creating'))
  for (const file of ['server.json', 'creating/demo.json'])
    for (const name of [`${file}.0123456789ab.tmp`, `${file}.tmp`]) writeFileSync(join(dir, name), '{')
  await (await openStateDir(dir, logger)).release()
  expect(readdirSync(dir).toSorted()).toEqual(['creating', 'format', 'lock', 'server-id', 'server.json.tmp'])
  expect(readdirSync(join(dir, 'creating'))).toEqual(['demo.json.tmp'])
})
