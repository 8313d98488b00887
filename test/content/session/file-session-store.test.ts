import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { FileSessionStore } from '../../../src/content/session/file-session-store.ts'
import { tempDir } from '../../support/temp-dir.ts'

const clock = { nowMs: () => 0, wallMs: () => 0 }

function query(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

test('a file without a recorded format keeps its sessions', async () => {
  const file = join(tempDir(), 'sessions.db')
  const first = await FileSessionStore.open(file, clock)
  await first.add('digest', { user: 'ann', proof: 'proof', expiresMs: 1_000 })
  await first.close()
  query(file, 'PRAGMA user_version = 0')
  const second = await FileSessionStore.open(file, clock)
  expect(second.find('digest')).toEqual({ user: 'ann', proof: 'proof', expiresMs: 1_000 })
  await second.close()
})

test('a file of a newer version is refused and stays unchanged', async () => {
  const file = join(tempDir(), 'sessions.db')
  query(file, 'CREATE TABLE session (something TEXT); PRAGMA user_version = 3')
  const before = readFileSync(file)
  await expect(FileSessionStore.open(file, clock)).rejects.toMatchObject({
    code: 'SESSIONS_UNAVAILABLE',
    message: expect.stringContaining('its format 3 is from a newer version; this version supports 2'),
  })
  expect(readFileSync(file)).toEqual(before)
})
