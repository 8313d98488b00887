import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { BackendName } from '../../../src/workspace/backend-name.ts'
import { type CreateDefaults, parseCreateRequest } from '../../../src/workspace/lifecycle/create-request.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { workspaceCli } from '../../support/workspace/client/workspace-cli.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import { CREATE_DEFAULTS } from '../../support/workspace/lifecycle/create-defaults.ts'

const DEFAULTS: CreateDefaults = {
  ...CREATE_DEFAULTS,
  image: 'base',
  getSnapshot: () => Promise.reject(new Error('nobody asked for one')),
}

async function imageOf(settings: Readonly<Record<string, unknown>>, image: string | undefined) {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()], settings })
  onTestFinished(() => server.stop())
  const { status, body } = await server.create({ name: 'demo', image })
  return status === 201 ? body.image : body.error
}

test.each([
  ['go', 'registry.example:5000/lang/golang:1.25'],
  ['Go', 'Go'],
  ['golang:1.25', 'golang:1.25'],
  [undefined, 'node:24'],
])('the requested image %j resolves to %j', async (image, expected) => {
  const image_aliases = { go: 'registry.example:5000/lang/golang:1.25', js: 'node:24' }
  expect(await imageOf({ image_aliases, default_image: 'js' }, image)).toBe(expected)
})

test('W5 an alias of an invalid image reference is refused', async () => {
  expect(await imageOf({ image_aliases: { evil: '--privileged' } }, 'evil')).toEqual({
    code: 'INVALID_REQUEST',
    message: 'image "--privileged" is not an image reference',
  })
})

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, '']))
test.each([
  [{ '': 'x' }, 'label key "" is invalid'],
  [{ '-a': 'x' }, 'label key "-a" is invalid'],
  [{ 'a-': 'x' }, 'label key "a-" is invalid'],
  [{ ['k'.repeat(64)]: 'x' }, 'is invalid'],
  [{ 'new\nline': 'x' }, 'is invalid'],
  [{ team: 'v'.repeat(256) }, 'labels.team must NOT have more than 255 characters'],
  [{ team: 'new\nline' }, '"team" must have at most 255 characters'],
  [{ team: 1 }, 'must be string'],
  [many(65), '64'],
])('labels %j are refused', async (labels, message) => {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(() => server.stop())
  const { status, body } = await server.create({ name: 'demo', labels })
  expect([status, body.error.code, body.error.message]).toEqual([
    400,
    'INVALID_REQUEST',
    expect.stringContaining(message),
  ])
})

test('labels at the limits are stored, and survive a restart', async () => {
  const backend = new FakeBackend()
  let server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  const labels = { ...many(63), ['k'.repeat(63)]: 'ü'.repeat(255) }
  expect(await server.create({ name: 'demo', labels })).toMatchObject({
    status: 201,
    body: { labels },
  })
  server = await server.restart()
  const found = await server.api('workspaces?label=k0&label=k1=')
  expect(found.body.workspaces).toMatchObject([{ name: 'demo', labels }])
  expect((await server.api('workspaces?labels=k0')).status).toBe(400)
})

test('an alias does not resolve to another alias', async () => {
  expect(await imageOf({ image_aliases: { one: 'two', two: 'three:3' } }, 'one')).toBe('two')
})

test('image aliases in a config file are shown and validated', async () => {
  const config = join(tempDir(), 'config.yaml')
  writeFileSync(config, 'image_aliases:\n  go: golang:1.25\n')
  const { stdout } = await workspaceCli(['config', 'show', '--config', config])
  expect(JSON.parse(stdout).image_aliases).toEqual({ go: 'golang:1.25' })
  writeFileSync(config, 'image_aliases:\n  go: [1]\n')
  expect(await workspaceCli(['config', 'check', '--config', config])).toMatchObject({ status: 1 })
})

test.each([
  ['docker', 'golang:1.25'],
  ['qemu', 'base'],
] as const)('for %s, the image in a devcontainer.json yields %s', async (backend, expected) => {
  const localDir = tempDir()
  writeFileSync(join(localDir, '.devcontainer.json'), '{"image": "golang:1.25"}')
  expect((await parseCreateRequest({ name: 'demo', backend, localDir }, DEFAULTS)).image).toBe(expected)
})

test('a disk size must be 1 to 100 GiB and is refused for containers', async () => {
  const upperOf = async (upperSize: number, backend: BackendName = 'qemu') =>
    (await parseCreateRequest({ name: 'demo', backend, upperSize }, DEFAULTS)).upperBytes
  expect(await upperOf(2 ** 30)).toBe(2 ** 30)
  expect(await upperOf(100 * 2 ** 30)).toBe(100 * 2 ** 30)
  for (const bytes of [0, 2 ** 30 - 1, 100 * 2 ** 30 + 1, 1.5 * 2 ** 30 + 0.5])
    await expect(upperOf(bytes)).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
  await expect(upperOf(2 ** 30, 'docker')).rejects.toMatchObject({ code: 'INVALID_REQUEST' })
})
