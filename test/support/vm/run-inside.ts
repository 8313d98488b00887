import { waitFor } from '../wait-for.ts'
import { call } from '../workspace/server/test-server.ts'

/** Counts in a file in memory, so that a later number proves that the same process continued. */
export const COUNT = `nohup sh -c 'n=0; while :; do n=$((n+1)); echo $n > /dev/shm/new; mv /dev/shm/new /dev/shm/n; sleep 0.2; done' >/dev/null 2>&1 &`

/** Runs a command in a workspace and returns its output, trimmed. */
export async function runInside(workspaceUrl: string, command: string): Promise<string> {
  let output: string | undefined
  // A busy agent takes several attempts to agree to a session with another server.
  const hasRun = async (): Promise<boolean> => {
    const { status, body } = await call(`${workspaceUrl}/exec`, 'POST', { command })
    output = status === 200 ? body.stdout.trim() : undefined
    return output !== undefined
  }
  await waitFor(`a program in ${workspaceUrl}`, hasRun, 60_000)
  return output ?? ''
}
