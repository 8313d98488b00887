import { afterAll, beforeAll, expect, test } from 'vitest'
import { DockerEngine } from '../../../../../src/workspace/backend/docker/engine/engine.ts'
import { hostOf } from '../../../../../src/workspace/backend/docker/network/engine-host.ts'
import { docker, TEST_IMAGE } from '../../../../support/engine/docker.ts'

/** An engine that looks like another machine's, whose rules this process cannot change. */
const engine = Object.assign(new DockerEngine(undefined), { address: 'tcp://elsewhere:2375' })
const table = `workspace_test_${process.pid}`
beforeAll(() => engine.open(() => undefined))
afterAll(() => engine.close())

test(
  'rules are applied on the engine’s machine by a container that leaves nothing behind',
  { tags: ['long'] },
  async () => {
    const host = hostOf(engine, TEST_IMAGE, (work) => work({ 'workspace.helper': 'network' }))
    expect(host.isLocal).toBe(false)
    await host.run('nft', ['-f', '-'], `add table inet ${table}\n`)
    expect(await host.run('nft', ['list', 'table', 'inet', table])).toBe(`table inet ${table} {\n}\n`)
    await host.run('nft', ['-f', '-'], `delete table inet ${table}\n`)
    await expect(host.run('nft', ['list', 'table', 'inet', table])).rejects.toThrow(
      'No such file or directory',
    )
    expect(await docker('ps', '-aq', '--filter', 'label=workspace.helper=network')).toBe('')
  },
)

test('an invalid script fails with nft’s message', async () => {
  await expect(
    hostOf(engine, TEST_IMAGE, (work) => work({ 'workspace.helper': 'network' })).run(
      'nft',
      ['-f', '-'],
      'add tabel x',
    ),
  ).rejects.toThrow(/nft on the engine's machine: .*syntax error/)
})
