import { randomUUID } from 'node:crypto'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { dockerBackend, removeLeftovers, uniqueName } from '../../support/engine/docker.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { userEnvironment, workspaceCli } from '../../support/workspace/client/workspace-cli.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

function directoryWith(content: string): string {
  const directory = tempDir()
  chmodSync(directory, 0o755)
  writeFileSync(join(directory, '.devcontainer.json'), content)
  return directory
}

const WARNINGS = [
  'devcontainer.json: containerEnv.A is an object, not a text, and is ignored',
  'devcontainer.json: onCreateCommand is a number, not a text, a list or an object, and is ignored',
  'devcontainer.json: features is a list, not an object, and is ignored',
]

test(
  'what is ignored is on standard error, in the workspace and in its timeline',
  { tags: ['long'] },
  async () => {
    const name = uniqueName('warned')
    const serverId = randomUUID()
    let server = await startWorkspaceServer({ backends: () => [dockerBackend({ serverId })] })
    onTestFinished(async () => {
      await server.api(`workspaces/${name}`, 'DELETE')
      await server.stop()
      await removeLeftovers(name)
    })
    const directory = directoryWith(
      `\uFEFF${JSON.stringify({
        containerEnv: { A: {}, PORT: 3000 },
        remoteEnv: { MINE: '${containerEnv:LANG}/${containerEnv:PORT}' },
        features: [],
        onCreateCommand: 7,
        postCreateCommand: 'env | grep -E "^(PORT|MINE)=" | sort > mark',
      })}`,
    )
    const { status, stdout, stderr } = await workspaceCli(
      ['create', name, '--local-dir', directory],
      userEnvironment({ WORKSPACE_URL: server.url }),
    )
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringMatching(/^(?:warning: devcontainer\.json: .*\n){3}$/),
    })
    for (const warning of WARNINGS) expect(stderr).toContain(`warning: ${warning}\n`)
    expect(JSON.parse(stdout).warnings).toEqual(expect.arrayContaining(WARNINGS))
    expect(readFileSync(join(directory, 'mark'), 'utf8')).toBe('MINE=C.UTF-8/3000\nPORT=3000\n')
    const inTimeline = async () => {
      const { entries } = (await server.api(`workspaces/${name}/timeline`)).body
      return entries.filter(({ type }: { type: string }) => type === 'note').map((each: any) => each.text)
    }
    expect(await inTimeline()).toEqual(expect.arrayContaining(WARNINGS))
    await server.api(`workspaces/${name}`, 'PATCH', { labels: { a: 'b' } })
    server = await server.restart()
    const { warnings, labels } = (await server.api(`workspaces/${name}`)).body
    expect({ warnings, labels }).toEqual({ warnings: expect.arrayContaining(WARNINGS), labels: { a: 'b' } })
    expect(await inTimeline()).toEqual(expect.arrayContaining(WARNINGS))
  },
)

test.each([
  ['that is not JSON', '{', 'it is not valid JSON: CloseBraceExpected in line 1'],
  ['that is not an object', '[]', 'it is not an object'],
  ['that is too large', `{${' '.repeat(300_000)}}`, 'it is larger than 256 KiB'],
])('a devcontainer.json %s is a warning', async (_what, content, why) => {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(() => server.stop())
  const { body } = await server.create({ name: 'demo', local_dir: directoryWith(content) })
  expect(body.warnings).toEqual([`devcontainer.json is unusable: ${why}`])
})

test('a remoteEnv that refers to an unreadable container is set without those variables', async () => {
  const backend = new FakeBackend()
  backend.before.set('exec', () => {
    throw new Error('no cat')
  })
  const server = await startWorkspaceServer({ backends: () => [backend] })
  onTestFinished(() => server.stop())
  const remoteEnv = { P: '${containerEnv:PATH}:/x', OK: 'yes' }
  const local_dir = directoryWith(JSON.stringify({ remoteEnv }))
  expect((await server.create({ name: 'demo', local_dir })).body).toMatchObject({
    status: 'running',
    warnings: ["devcontainer.json: the container's environment cannot be read; remoteEnv is set without P"],
  })
})

test('warnings are bounded in number and length', async () => {
  const server = await startWorkspaceServer({ backends: () => [new FakeBackend()] })
  onTestFinished(() => server.stop())
  const containerEnv = Object.fromEntries(
    Array.from({ length: 200 }, (_, i) => [`${i}`.padEnd(500, 'x'), {}]),
  )
  const directory = directoryWith(JSON.stringify({ containerEnv, image: 'x'.repeat(100_000) }))
  const { warnings } = (await server.create({ name: 'demo', local_dir: directory })).body
  expect(warnings).toHaveLength(51)
  expect(warnings.at(-1)).toBe('151 more warnings')
  expect(Math.max(...warnings.map((each: string) => each.length))).toBeLessThan(301)
  const { entries } = (await server.api('workspaces/demo/timeline')).body
  expect(entries.filter(({ type }: { type: string }) => type === 'note')).toHaveLength(11)
})
