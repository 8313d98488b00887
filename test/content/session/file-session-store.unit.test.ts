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
  query(file, 'CREATE TABLE session (something TEXT); PRAGMA user_version = 4')
  const before = readFileSync(file)
  await expect(FileSessionStore.open(file, clock)).rejects.toMatchObject({
    code: 'SESSIONS_UNAVAILABLE',
    message: expect.stringContaining('its format 4 is from a newer version; this version supports 3'),
  })
  expect(readFileSync(file)).toEqual(before)
})

test('groups survive a restart, and sessions of format 2 have none', async () => {
  const file = join(tempDir(), 'sessions.db')
  query(
    file,
    `CREATE TABLE session (
       digest TEXT PRIMARY KEY, user TEXT NOT NULL, proof TEXT NOT NULL, expires_ms INTEGER NOT NULL
     ) WITHOUT ROWID;
     CREATE TABLE host_session (digest TEXT PRIMARY KEY, repo TEXT NOT NULL, parent TEXT NOT NULL) WITHOUT ROWID;
     INSERT INTO session VALUES ('old', 'ann', 'proof', 1000);
     PRAGMA user_version = 2`,
  )
  const session = { user: 'ann', proof: 'proof', expiresMs: 1_000 }
  const claims = { groups: ['hr', '"ü\n'], isVerified: true }
  const first = await FileSessionStore.open(file, clock)
  await first.add('new', { ...session, ...claims, of: { repo: 'a', parent: 'old' } })
  await first.close()
  const second = await FileSessionStore.open(file, clock)
  expect(second.find('old')).toEqual(session)
  expect(second.find('new')).toEqual({ ...session, ...claims, of: { repo: 'a', parent: 'old' } })
  await second.close()
  query(file, `UPDATE claims SET json = '{"groups":"hr"}'`)
  const third = await FileSessionStore.open(file, clock)
  // Damaged groups count as none.
  expect(third.find('new')).toEqual({ ...session, of: { repo: 'a', parent: 'old' } })
  await third.close()
})
