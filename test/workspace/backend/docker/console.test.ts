import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createIn, outputOf, sh } from '../../../support/workspace/backend/backends.ts'
import { docker, dockerBackend, removeLeftovers, uniqueName } from '../../../support/engine/docker.ts'

const name = uniqueName('console')
const backend = dockerBackend()
const MOST_BYTES = 2 * 8 * 2 ** 20

/** Size of a container's log on this machine; undefined where the engine stores it elsewhere. */
function logBytes(path: string): number | undefined {
  if (!existsSync(path)) return undefined
  const folder = dirname(path)
  return readdirSync(folder)
    .filter((file) => file.includes('-json.log'))
    .reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
}

describe('container output', () => {
  beforeAll(async () => {
    await backend.open(() => undefined)
    await createIn(backend, name)
  })
  afterAll(async () => {
    await removeLeftovers(name)
    await backend.close()
  })

  test(
    'B5 a program that floods the container’s console stays within the log’s size limit',
    { tags: ['long'] },
    async () => {
      const { status } = await outputOf(
        backend,
        name,
        sh(
          'head -c 60000000 /dev/zero | tr "\\\\0" "a" | fold -w 200 > /proc/1/fd/1; printf "\\nthe end\\n" > /proc/1/fd/1',
        ),
      )
      expect(status).toBe(0)
      // The engine reads the pipe after the program has exited.
      await expect.poll(() => backend.logs(name, 1)).toEqual(['the end'])
      const path = await docker('inspect', '--format', '{{.LogPath}}', `ws-${name}`)
      // The engine may write one more line before it checks again.
      const bytes = logBytes(path)
      if (bytes !== undefined) expect(bytes).toBeLessThanOrEqual(MOST_BYTES + 2 ** 20)
    },
  )

  test('B5 a container has less CPU weight than the host’s own services', () => {
    const shares = execFileSync('docker', ['inspect', '--format', '{{.HostConfig.CpuShares}}', `ws-${name}`])
    expect(Number(shares.toString())).toBe(512)
  })
})
