import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { run } from '../../../../src/lib/process/run.ts'
import type { Backend } from '../../../../src/workspace/backend/backend.ts'
import { readProgram } from '../../../../src/workspace/backend/read-program.ts'
import { docker, dockerBackend, removeLeftovers, uniqueName } from '../../engine/docker.ts'
import { tempDir } from '../../temp-dir.ts'
import { startWorkspaceServer, type TestServer } from '../server/test-server.ts'

/** Contents of files by their path. */
export type Files = Readonly<Record<string, string | Buffer>>

/** A devcontainer.json whose context is the folder. */
export const BUILD = { build: { dockerfile: 'Dockerfile', context: '..' } }

/** Starts a server for a file of tests, whose images are removed. */
export function useBuilds() {
  const serverId = randomUUID()
  let backend: Backend
  let server: TestServer
  beforeAll(async () => {
    backend = dockerBackend({ serverId })
    server = await startWorkspaceServer({ backends: () => [backend] })
  })
  afterAll(async () => {
    await server.stop()
    await removeBuilt(serverId)
  })
  return {
    server: () => server,
    /** Creates a workspace. */
    create: async (source: object) => {
      const name = uniqueName('build')
      onTestFinished(async () => {
        await server.api(`workspaces/${name}`, 'DELETE')
        await removeLeftovers(name)
      })
      const { status, body } = await server.api('workspaces', 'POST', { name, ...source })
      expect([status, body]).toMatchObject([201, {}])
      const { image, warnings = [] } = (await server.api(`workspaces/${name}`)).body
      return { name, image: image as string, warnings: warnings as readonly string[] }
    },
    /** Returns what a script prints in a workspace. */
    inWorkspace: async (name: string, script: string): Promise<string> =>
      (await readProgram(await backend.exec(name, { argv: ['/bin/sh', '-c', script], stdin: false }))).stdout,
  }
}

/** Removes the images that a server built, each with those below it that nothing else needs. */
export async function removeBuilt(serverId: string): Promise<void> {
  const listed = () => docker('images', '-q', '--filter', `label=workspace.build_server=${serverId}`)
  for (let ids = await listed(), left = ''; ids !== '' && ids !== left; ids = await listed()) {
    left = ids
    await run('docker', ['rmi', '-f', ...new Set(ids.split('\n'))])
  }
}

/** A folder with files by their path. Those with "#!" can be executed. */
export function folderWith(files: Files): string {
  const folder = tempDir()
  chmodSync(folder, 0o755)
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    chmodSync(file, content.toString('latin1').startsWith('#!') ? 0o755 : 0o640)
  }
  return folder
}

/** A folder with a Dockerfile, and with other files. */
export function folderToBuild(dockerfile: string, files: Files = {}, config: object = BUILD): string {
  return folderWith({
    ...files,
    '.devcontainer/devcontainer.json': JSON.stringify(config),
    '.devcontainer/Dockerfile': dockerfile,
  })
}

/** Runs the engine's own builder. */
export function engineBuild(argv: readonly string[], input?: string): ReturnType<typeof run> {
  return run('docker', ['build', '-q', ...argv], {
    ...(input !== undefined && { input }),
    environment: { ...process.env, DOCKER_BUILDKIT: '0' },
  })
}
