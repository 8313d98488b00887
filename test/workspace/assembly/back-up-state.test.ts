import { existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { encodeTarHeader, TAR_END } from '../../../src/lib/tar/encode-header.ts'
import { backUpState, restoreState } from '../../../src/workspace/assembly/back-up-state.ts'
import { TIMELINE_FILE } from '../../../src/workspace/state-dir.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { FakeBackend } from '../../support/workspace/backend/fake-backend.ts'
import { startTeamServer } from '../../support/workspace/server/team-server.ts'
import { userEnvironment, workspaceCli } from '../../support/workspace/client/workspace-cli.ts'
import { call, startWorkspaceServer } from '../../support/workspace/server/test-server.ts'

/** Creates an archive of files. */
function archive(...files: readonly (readonly [name: string, type: 'file' | 'link'])[]): Buffer {
  const entries = files.map(([path, type]) =>
    encodeTarHeader({
      path,
      type,
      linkPath: type === 'link' ? '/etc/passwd' : '',
      mode: 0o600,
      size: 0,
      mtimeMs: 0,
    }),
  )
  return gzipSync(Buffer.concat([...entries, TAR_END]))
}

describe('a backup of the state', () => {
  test('restores identity, users, tokens and settings, and works while the server runs', async () => {
    const backend = new FakeBackend()
    const team = await startTeamServer({ ana: 'member', bob: 'guest' }, { backends: () => [backend] })
    onTestFinished(team.stop)
    await team.as('ana')('/api/workspaces', 'POST', { name: 'ana-1', labels: { stage: 'test' } })
    await team.as('ana')('/api/workspaces/ana-1/access', 'PUT', { shares: { bob: 'read' } })
    const timelines = join(team.server.stateDir, TIMELINE_FILE)
    await waitFor(
      'the timeline',
      () => existsSync(timelines) && readFileSync(timelines, 'utf8').includes('ana-1'),
    )
    const file = join(tempDir(), 'state.tar.gz')
    expect(await backUpState(team.server.stateDir, file)).toBeGreaterThan(4)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await team.server.stop()

    const stateDir = join(tempDir(), 'restored')
    await restoreState(file, stateDir)
    expect((await readdir(stateDir)).filter((name) => name.endsWith('.tmp'))).toEqual([])
    const server = await startWorkspaceServer({
      backends: () => [backend],
      stateDir,
      settings: { team: { enabled: true } },
    })
    onTestFinished(() => server.stop())
    expect(server.sshFingerprint).toBe(team.server.sshFingerprint)
    const as = (user: string, path: string) =>
      call(`${server.url}${path}`, 'GET', undefined, { authorization: team.authorizationOf(user) })
    expect((await as('bob', '/api/workspaces/ana-1')).body.labels).toEqual({ stage: 'test' })
    const { entries } = (await as('bob', '/api/workspaces/ana-1/timeline')).body
    expect(JSON.stringify(entries)).toContain('a client requested its creation')
    expect((await as('', '/api/users')).body.users).toHaveLength(2)
  })

  test('is restored completely or not at all', async () => {
    const directory = tempDir()
    const stateDir = join(directory, 'state')
    const server = await startWorkspaceServer({ backends: () => [new FakeBackend()], stateDir })
    await server.stop()
    const file = join(directory, 'state.tar.gz')
    await backUpState(stateDir, file)
    await expect(restoreState(file, stateDir)).rejects.toThrow('already belongs to a server')
    rmSync(join(stateDir, 'server-id'))
    await expect(backUpState(stateDir, file)).rejects.toThrow('is not the state directory of a server')
    expect(await restoreState(file, stateDir)).toBeGreaterThan(1)

    const good = readFileSync(file)
    const other = join(directory, 'other')
    const damaged: Readonly<Record<string, Buffer>> = {
      'no archive': Buffer.from('text'),
      'cut off': good.subarray(0, good.length / 2),
      'cut off inside': gzipSync(gunzipSync(good).subarray(0, 700)),
      'without its identity': archive(['format', 'file']),
      'with a path that leads out': archive(['server-id', 'file'], ['../evil', 'file']),
      'with an absolute path': archive(['server-id', 'file'], ['/etc/evil', 'file']),
      'with another file': archive(['server-id', 'file'], ['settings/../../evil.json', 'file']),
      'with a link': archive(['server-id', 'link']),
    }
    for (const [what, content] of Object.entries(damaged)) {
      writeFileSync(file, content)
      await expect(restoreState(file, other), what).rejects.toThrow('backup of a server')
      await expect(readdir(other), what).rejects.toThrow('ENOENT')
    }
    await expect(restoreState(join(directory, 'none'), other)).rejects.toThrow('backup of a server')
  })

  test('is not written if it could not be restored, and leaves out timelines that are too large', async () => {
    const directory = tempDir()
    const stateDir = join(directory, 'state')
    const server = await startWorkspaceServer({ backends: () => [new FakeBackend()], stateDir })
    await server.stop()
    const file = join(directory, 'state.tar.gz')
    const files = await backUpState(stateDir, file)
    const grow = (name: string) => {
      writeFileSync(join(stateDir, name), '')
      truncateSync(join(stateDir, name), 64 * 2 ** 20 + 1)
    }
    grow(TIMELINE_FILE)
    expect(await backUpState(stateDir, file)).toBe(files)
    expect(await restoreState(file, join(directory, 'restored'))).toBe(files)
    grow('docker-images.json')
    await expect(backUpState(stateDir, file)).rejects.toThrow('docker-images.json is too large')
  })

  test('the commands use the state directory of the configuration', { tags: ['long'] }, async () => {
    const directory = tempDir()
    const [stateDir, restored] = [join(directory, 'state'), join(directory, 'restored')]
    const server = await startWorkspaceServer({ backends: () => [new FakeBackend()], stateDir })
    onTestFinished(() => server.stop())
    const file = join(directory, 'state.tar.gz')
    const run = (state: string, ...argv: readonly string[]) =>
      workspaceCli([...argv, '--table'], userEnvironment({ WORKSPACE_STATE_DIR: state }))
    expect((await run(stateDir, 'backup', file)).stdout).toMatch(/^\d+ files are in /)
    expect((await run(restored, 'restore', file)).stdout).toContain(
      `restored to ${restored}; start the server`,
    )
    expect((await run(stateDir, 'restore', file)).stderr).toContain('already belongs to a server')
    expect(readFileSync(join(restored, 'server-id'))).toEqual(readFileSync(join(stateDir, 'server-id')))
  })
})
