import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ContainerLoads } from '../../../../../src/workspace/backend/docker/exec/container-load.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

function tree(files: Readonly<Record<string, string>>): string {
  const root = tempDir()
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  return root
}

const V2 = (place: string) => ({
  [`${place}/cpu.stat`]: 'usage_usec 2500000\nuser_usec 2000000\n',
  [`${place}/memory.current`]: '10000\n',
  [`${place}/memory.stat`]: 'anon 5000\ninactive_file 4000\nslab 1\n',
})

test.each(['docker/abc', 'system.slice/docker-abc.scope', 'machine.slice/libpod-abc.scope'])(
  'a container at %s is found and read, without what the kernel keeps of files',
  async (place) => {
    const loads = new ContainerLoads(tree(V2(place)))
    expect(await loads.readAll(['abc', 'other'])).toEqual(
      new Map([['abc', { cpuMs: 2_500, memoryBytes: 6_000 }]]),
    )
  },
)

test('control groups of version 1 are read as well', async () => {
  const root = tree({
    'cpuacct/docker/abc/cpuacct.usage': '2500000000\n',
    'memory/docker/abc/memory.usage_in_bytes': '10000\n',
    'memory/docker/abc/memory.stat': 'cache 1\ninactive_file 1\ntotal_inactive_file 4000\n',
  })
  expect(await new ContainerLoads(root).readAll(['abc'])).toEqual(
    new Map([['abc', { cpuMs: 2_500, memoryBytes: 6_000 }]]),
  )
})

test('a stopped container is left out, and found again at its next path', async () => {
  const root = tree(V2('docker/abc'))
  const loads = new ContainerLoads(root)
  expect((await loads.readAll(['abc'])).size).toBe(1)
  rmSync(join(root, 'docker'), { recursive: true })
  expect((await loads.readAll(['abc'])).size).toBe(0)
  mkdirSync(join(root, 'docker/abc'), { recursive: true })
  for (const [path, content] of Object.entries(V2('docker/abc'))) writeFileSync(join(root, path), content)
  expect((await loads.readAll(['abc'])).size).toBe(1)
})
