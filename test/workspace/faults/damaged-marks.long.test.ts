import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { CreationMarks } from '../../../src/workspace/lifecycle/creation-marks.ts'
import { backendCreate } from '../../support/workspace/backend/backend-create.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { makeWorkspace, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

const good = JSON.stringify({ name: 'half', backend: 'docker', keepVolume: true })

/** Possible contents of a damaged mark file. */
const DAMAGE: readonly (readonly [string, string | Buffer])[] = [
  ['nothing', ''],
  ['a blank', ' '],
  ['NULs', Buffer.alloc(64)],
  ['half of itself', good.slice(0, good.length / 2)],
  ['all but its last character', good.slice(0, -1)],
  ['itself and NULs', good + '\0'.repeat(100)],
  ['itself twice', good + good],
  ['random bytes', Buffer.from('8f00ff10c3284be2', 'hex')],
  ['null', 'null'],
  ['a number', '7'],
  ['a string', '"half"'],
  ['a list', '[]'],
  ['an empty object', '{}'],
  ['another workspace’s name', JSON.stringify({ name: 'whole', backend: 'docker', keepVolume: false })],
  ['a path as name', JSON.stringify({ name: '../whole', backend: 'docker', keepVolume: false })],
  ['an empty name', JSON.stringify({ name: '', backend: 'docker', keepVolume: false })],
  ['a number as name', JSON.stringify({ name: 7, backend: 'docker', keepVolume: false })],
  ['an unknown backend', JSON.stringify({ name: 'half', backend: 'other', keepVolume: false })],
  ['a word for whether to keep', JSON.stringify({ name: 'half', backend: 'docker', keepVolume: 'false' })],
  ['nothing about the volume', JSON.stringify({ name: 'half', backend: 'docker' })],
]

test.each(DAMAGE)('F8 a mark that contains %s affects only the marked workspace', async (_what, content) => {
  const stateDir = tempDir()
  const backend = new (class extends FakeBackend {
    // One engine outlives two servers.
    override close = () => Promise.resolve()
  })()
  onTestFinished(() => FakeBackend.prototype.close.call(backend))
  const first = await startWorkspaceServer({ stateDir, backends: () => [backend] })
  for (const name of ['whole', 'half']) await makeWorkspace(first.url, { name })
  await first.stop()
  writeFileSync(join(stateDir, 'creating', 'half.json'), content)

  const second = await startWorkspaceServer({ stateDir, backends: () => [backend] })
  onTestFinished(() => second.stop())
  const { body } = await second.api('workspaces')
  expect(body.workspaces.map((each: { name: string }) => each.name)).toEqual(['whole'])
  // Missing fields of the mark default to the safe values.
  expect([await backend.hasVolume('whole'), await backend.hasVolume('half')]).toEqual([true, true])
  expect(readdirSync(join(stateDir, 'creating'))).toEqual([])
  await makeWorkspace(second.url, { name: 'half' })
})

test('F8 a file that is not a mark is left alone', async () => {
  const stateDir = tempDir()
  const directory = join(stateDir, 'creating')
  mkdirSync(directory)
  const strangers = ['..json', '-rf.json', 'a b.json', 'note.txt', `${'x'.repeat(80)}.json`]
  for (const file of strangers) writeFileSync(join(directory, file), good)
  expect(await new CreationMarks(stateDir).list()).toEqual([])
  expect(readdirSync(directory).toSorted()).toEqual(strangers.toSorted())
})

test('F8 a mark that cannot be removed does not hide other workspaces', async () => {
  const stateDir = tempDir()
  const backend = new FakeBackend()
  mkdirSync(join(stateDir, 'creating', 'half.json'), { recursive: true })
  backend.before.set('remove', () => {
    throw new Error('the volume is in use')
  })
  await backend.create(
    backendCreate('whole', 'i', { createdAt: new Date() }),
    () => undefined,
    new AbortController().signal,
  )
  const server = await startWorkspaceServer({ stateDir, backends: () => [backend] })
  onTestFinished(() => server.stop())
  expect((await server.api('workspaces/whole')).body.status).toBe('running')
  expect(server.log()).toContain('cannot remove the remains of an unfinished creation')
})

/**
 * Regression: the list of marks was read once, so a creation that finished in the meantime was rolled back.
 */
test('F8 a creation that finishes while older marks are rolled back is kept', async () => {
  const stateDir = tempDir()
  const backend = new FakeBackend()
  const server = await startWorkspaceServer({ stateDir, backends: () => [backend] })
  onTestFinished(() => server.stop())
  await new CreationMarks(stateDir).add({ name: 'aa-old', backend: 'docker', keepVolume: false })
  const [undoing, making] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isUndoing = false
  backend.before.set('remove', () => {
    isUndoing = true
    return undoing.promise
  })
  backend.before.set('started', () => making.promise)
  const creation = makeWorkspace(server.url, { name: 'new' })
  await waitFor('the mark', () => readdirSync(join(stateDir, 'creating')).includes('new.json'))
  backend.setAvailable(true)
  await waitFor('the undoing', () => isUndoing)
  making.resolve()
  await creation
  undoing.resolve()
  await waitFor('the old mark to go', () => readdirSync(join(stateDir, 'creating')).length === 0)
  expect((await server.api('workspaces/new')).body.status).toBe('running')
  expect(await backend.find('new')).toBeDefined()
})
