import { afterAll, beforeAll, expect, test } from 'vitest'
import { DockerEngine } from '../../../../../src/workspace/backend/docker/engine/engine.ts'
import { nftOf } from '../../../../../src/workspace/backend/docker/network/engine-nft.ts'
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
    const nft = nftOf(engine, TEST_IMAGE)
    expect(nft.isLocal).toBe(false)
    await nft(['-f', '-'], `add table inet ${table}\n`)
    await nft(['list', 'table', 'inet', table], '')
    await nft(['-f', '-'], `delete table inet ${table}\n`)
    await expect(nft(['list', 'table', 'inet', table], '')).rejects.toThrow('No such file or directory')
    expect(await docker('ps', '-aq', '--filter', 'label=workspace.helper=nft')).toBe('')
  },
)

test('an invalid script fails with nft’s message', async () => {
  await expect(nftOf(engine, TEST_IMAGE)(['-f', '-'], 'add tabel x')).rejects.toThrow(
    /nft on the engine's machine: .*syntax error/,
  )
})
