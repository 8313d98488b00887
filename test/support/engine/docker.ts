import { randomBytes, randomUUID } from 'node:crypto'
import { run } from '../../../src/lib/process/run.ts'
import { DockerBackend } from '../../../src/workspace/backend/docker/docker-backend.ts'
import type { EngineTiming } from '../../../src/workspace/backend/docker/engine/engine.ts'
import type { MountedSocketDirs } from '../../../src/workspace/backend/docker/exec/mounted-socket-dirs.ts'

/** The image that scripts/setup builds. */
export const TEST_IMAGE = 'workspace-base:1'

/** Returns a workspace name that no other test run uses: they share one engine. */
export function uniqueName(stem: string): string {
  return `${stem}-${randomBytes(4).toString('hex')}`
}

/** A backend on the machine's engine that sees only its own containers. */
export function dockerBackend(
  options: {
    readonly serverId?: string
    readonly host?: string
    readonly network?: string
    readonly mountedSocketDirs?: MountedSocketDirs
    readonly timing?: EngineTiming
  } = {},
) {
  return new DockerBackend({
    // Like Docker's own client, so that the suite runs against other engines such as Podman's.
    host: options.host ?? process.env['DOCKER_HOST'],
    // The host's network, so that workspaces reach test servers on 127.0.0.1.
    network: options.network ?? 'host',
    serverId: options.serverId ?? randomUUID(),
    mountedSocketDirs: options.mountedSocketDirs,
    timing: options.timing,
  })
}

/** Runs Docker's own CLI; fails with its error output. */
export async function docker(...argv: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run('docker', argv)
  if (status !== 0) throw new Error(`docker ${argv.join(' ')}: ${stderr}`)
  return stdout.trim()
}

/** Returns whether the engine has a container or a volume of a workspace. */
export async function leftovers(workspace: string): Promise<readonly string[]> {
  const filter = `name=^/?ws-${workspace.toLowerCase()}$`
  const containers = await docker('ps', '-a', '--filter', filter, '--format', 'container {{.Names}}')
  const volumes = await docker(
    'volume',
    'ls',
    '--filter',
    `name=ws-${workspace.toLowerCase()}`,
    '--format',
    'volume {{.Name}}',
  )
  return [containers, volumes].flatMap((lines) => lines.split('\n')).filter((line) => line !== '')
}

/** Removes what a test may have left of a workspace, no matter which server created it. */
export async function removeLeftovers(workspace: string): Promise<void> {
  await run('docker', ['rm', '-f', '-v', `ws-${workspace.toLowerCase()}`])
  await run('docker', ['volume', 'rm', '-f', `ws-${workspace.toLowerCase()}`])
  const checkpoints = ['--filter', `label=workspace.checkpoint_of=${workspace.toLowerCase()}`, '-q']
  for (const kind of ['image', 'volume'] as const) {
    const { stdout } = await run('docker', [kind, 'ls', ...checkpoints])
    const ids = new Set(stdout.split('\n').filter((id) => id !== ''))
    if (ids.size > 0) await run('docker', [kind, 'rm', '-f', ...ids])
  }
}
