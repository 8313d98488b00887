import type { WorkspaceServer } from '../client/sdk/server.ts'
import type { Workspace } from '../client/sdk/workspace.ts'
import { requestLimit } from './clients.ts'
import type { ObservedContent, ObservedWorkspace } from './compare.ts'
import { SHOW } from './scripts.ts'

const MAX_OUTPUT_BYTES = 8 * 2 ** 20

/** Reads all workspaces of a server, with the files of those that run. @throws TimeoutError after 60 s */
export async function observe(server: WorkspaceServer): Promise<readonly ObservedWorkspace[]> {
  return Promise.all((await server.list({ signal: requestLimit() })).map(observeWorkspace))
}

async function observeWorkspace(workspace: Workspace): Promise<ObservedWorkspace> {
  const { name, status, errorMessage, labels = {} } = workspace.info
  const content = status === 'running' ? await observeContent(workspace) : undefined
  return { name, status, errorMessage, labels, content }
}

async function observeContent(workspace: Workspace): Promise<ObservedContent> {
  const { stdout, stderr, exitStatus } = await workspace.exec(['/bin/sh', '-c', SHOW], {
    cwd: '/workspace',
    maxOutputBytes: MAX_OUTPUT_BYTES,
    signal: requestLimit(),
  })
  if (exitStatus !== 0) throw new Error(`the files of ${workspace.name} cannot be read: ${stderr}`)
  const [files = '', lines = ''] = stdout.split(/(?:^|\n)\n/)
  return {
    digests: new Map(
      linesOf(files).map((line) => {
        const [digest = '', name = ''] = line.split('  ')
        return [name, digest]
      }),
    ),
    lines: linesOf(lines),
  }
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '')
}
