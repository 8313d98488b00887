import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { run } from '../../../src/lib/process/run.ts'
import { dockerBackend, removeLeftovers, TEST_IMAGE, uniqueName } from '../engine/docker.ts'
import { userEnvironment, workspaceCli } from '../workspace/client/workspace-cli.ts'
import { removeBuilt } from '../workspace/lifecycle/image-builds.ts'
import { startWorkspaceServer, type TestServer } from '../workspace/server/test-server.ts'
import {
  containerOf,
  filesOf,
  folderWith,
  type Observed,
  removeFiles,
  upWithOfficialCli,
} from './dev-container-cli.ts'

/** The base image with files that shells read. */
const DOCKERFILE = `
FROM ${TEST_IMAGE}
USER root
ENV FROM_IMAGE=image
RUN mkdir -p /opt/kit/bin && printf '#!/bin/sh\\necho kit ran\\n' > /opt/kit/bin/kit && chmod +x /opt/kit/bin/kit && \\
  echo 'export PATH=$PATH:/opt/kit/bin KIT=1; echo noise' > /etc/profile.d/kit.sh && \\
  printf 'export RC=1\\n' > /home/workspace/.bashrc && printf 'export PROFILE=1\\n. ~/.bashrc\\n' > /home/workspace/.profile
USER workspace
`

/** The CLI mounts the folder elsewhere unless a file has these. */
const PLACE = {
  workspaceFolder: '/workspace',
  workspaceMount: 'source=${localWorkspaceFolder},target=/workspace,type=bind',
}

/** Containers that both make of a folder. */
interface Results {
  readonly theirs: Observed
  readonly ours: Observed
  readonly warnings: readonly string[]
}

/** Starts a server for a file of tests, which compare it with the official CLI. */
export function useBoth() {
  const image = `dev-container-${randomBytes(4).toString('hex')}:1`
  const serverId = randomUUID()
  let server: TestServer
  beforeAll(async () => {
    const { status, stderr } = await run('docker', ['build', '-q', '-t', image, '-'], {
      input: DOCKERFILE,
      environment: { ...process.env, DOCKER_BUILDKIT: '0' },
    })
    if (status !== 0) throw new Error(stderr)
    server = await startWorkspaceServer({ backends: () => [dockerBackend({ serverId })] })
  })
  afterAll(async () => {
    await server.stop()
    await removeBuilt(serverId)
    await run('docker', ['rmi', '-f', image])
  })
  return {
    /** The image of the files. */
    image,

    textWith: (content: object): string => JSON.stringify({ image, ...PLACE, ...content }),

    /** Runs both for a folder, one after the other: its path is part of `${devcontainerId}`. */
    both: async (
      text: string,
      files: Readonly<Record<string, string>> = {},
      environment: Readonly<Record<string, string>> = {},
    ): Promise<Results> => {
      const folder = folderWith(text, files)
      const theirs = await upWithOfficialCli(folder, environment)
      removeFiles(folder)
      const name = uniqueName('official')
      onTestFinished(async () => {
        await server.api(`workspaces/${name}`, 'DELETE')
        await removeLeftovers(name)
      })
      const { status } = await workspaceCli(
        ['create', name, '--local-dir', folder],
        userEnvironment({ WORKSPACE_URL: server.url }),
      )
      const { body } = await server.api(`workspaces/${name}`)
      const { container_id: id = '', warnings = [] } = body
      const ours = { succeeded: status === 0, ...(await containerOf(id)), files: filesOf(folder) }
      return { theirs, ours, warnings }
    },
  }
}

/** Set when a program starts. */
const OF_A_PROGRAM = /^(?:HOSTNAME|PWD|OLDPWD|SHLVL|_|LS_COLORS)=/
/**
 * Directories that /etc/profile adds. The official CLI edits that file, so that it keeps the container's PATH; here
 * both are merged.
 */
const OF_PROFILE = /:\/usr\/local\/games:\/usr\/games/

/** Returns what must be the same in both. */
export function comparable({ files, variables, ...rest }: Observed, content: unknown) {
  // Here remoteEnv is part of the container's environment, for all programs of its user.
  const names = Object.keys(Object((content as { readonly remoteEnv?: unknown }).remoteEnv))
  const isOfContainer = (each: string) => !names.some((name) => each.startsWith(`${name}=`))
  const lines = (text: string) =>
    text
      .split('\n')
      .filter((line) => !OF_A_PROGRAM.test(line))
      .map((line) => line.replace(OF_PROFILE, ''))
      .toSorted()
  const entries = Object.entries(files).map(([name, text]) => [name, lines(text)] as const)
  return { ...rest, variables: variables.filter(isOfContainer), files: Object.fromEntries(entries) }
}
