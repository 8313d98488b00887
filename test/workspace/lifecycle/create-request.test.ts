import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { FakeBackend } from '../../support/fake-backend.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { workspaceCli } from '../../support/workspace-cli.ts'
import { call, startWorkspaceServer } from '../../support/workspace-server.ts'

async function imageOf(settings: Readonly<Record<string, unknown>>, image: string | undefined) {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()], settings })
  onTestFinished(() => server.stop())
  const { status, body } = await call(`${server.url}/api/workspaces`, 'POST', { name: 'demo', image })
  return status === 201 ? body.image : body.error
}

test.each([
  ['go', 'registry.example:5000/lang/golang:1.25'],
  ['Go', 'Go'],
  ['golang:1.25', 'golang:1.25'],
  [undefined, 'node:24'],
])('an image asked for as %j is %j', async (image, expected) => {
  const image_aliases = { go: 'registry.example:5000/lang/golang:1.25', js: 'node:24' }
  expect(await imageOf({ image_aliases, default_image: 'js' }, image)).toBe(expected)
})

test('W5 an alias that leads to no image reference is refused', async () => {
  expect(await imageOf({ image_aliases: { evil: '--privileged' } }, 'evil')).toEqual({
    code: 'INVALID_REQUEST',
    message: 'image "--privileged" is not an image reference',
  })
})

test('an alias does not lead to another alias', async () => {
  expect(await imageOf({ image_aliases: { one: 'two', two: 'three:3' } }, 'one')).toBe('two')
})

test('image aliases of a configuration file are shown and checked', async () => {
  const config = join(tempDir(), 'config.yaml')
  writeFileSync(config, 'image_aliases:\n  go: golang:1.25\n')
  const { stdout } = await workspaceCli(['config', 'show', '--config', config])
  expect(JSON.parse(stdout).image_aliases).toEqual({ go: 'golang:1.25' })
  writeFileSync(config, 'image_aliases:\n  go: [1]\n')
  expect(await workspaceCli(['config', 'check', '--config', config])).toMatchObject({ status: 1 })
})
