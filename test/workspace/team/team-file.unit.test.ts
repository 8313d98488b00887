import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { TEAM_FILE, TEAM_KEYS_FILE } from '../../../src/workspace/state-dir.ts'
import { TeamFile } from '../../../src/workspace/team/team-file.ts'
import type { User } from '../../../src/workspace/team/user.ts'
import { tempDir } from '../../support/temp-dir.ts'

const user = (name: string): User => ({
  id: `usr_${name}`,
  name,
  role: 'member',
  isDisabled: false,
  groups: [],
  createdMs: 1,
  keys: [{ name: 'laptop', publicKey: `ssh-ed25519 ${name}`, fingerprint: `SHA256:${name}`, createdMs: 1 }],
  tokens: [],
})

test.each([TEAM_FILE, TEAM_KEYS_FILE])('a change that cannot be written to %s is not made', async (name) => {
  const stateDir = tempDir()
  const file = await TeamFile.open(stateDir)
  await file.change(() => [[user('ana')], undefined])
  let changes = 0
  file.onChange(() => changes++)
  const path = join(stateDir, name)
  // A directory cannot be replaced by a file.
  renameSync(path, `${path}.kept`)
  mkdirSync(path)
  await expect(file.change((users) => [[...users, user('bob')], undefined])).rejects.toThrow(
    'cannot be written',
  )
  await expect(file.change(() => [[], undefined])).rejects.toThrow('cannot be written')
  rmSync(path, { recursive: true })
  renameSync(`${path}.kept`, path)
  const names = (): readonly string[] => file.users.map((each) => each.name)
  expect([names(), changes]).toEqual([['ana'], 0])
  expect(readFileSync(join(stateDir, TEAM_KEYS_FILE), 'utf8')).toMatch(/^#.*\nssh-ed25519 ana\n$/)
  expect((await TeamFile.open(stateDir)).users).toEqual([user('ana')])

  await file.change((users) => [[...users, user('bob')], undefined])
  expect([names(), changes]).toEqual([['ana', 'bob'], 1])
  expect(readFileSync(join(stateDir, TEAM_KEYS_FILE), 'utf8')).toContain('ssh-ed25519 bob\n')
})
