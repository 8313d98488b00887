import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A workspace server in a separate process, so that the bench's own work does not slow it down. */
export interface Served {
  readonly url: string
  readonly sshPort: number
  readonly pid: number
  /** Posts to the API; fails on any status other than success. */
  readonly post: (path: string, body?: unknown) => Promise<void>
  readonly delete: (path: string) => Promise<void>
  readonly stop: () => Promise<void>
}

/** Starts a server whose workspaces use the host's network, and waits until it is ready. */
export async function serve(
  stateDir = mkdtempSync(join(tmpdir(), 'workspace-bench-')),
  environment: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const program = join(import.meta.dirname, '../src/bin/workspace.ts')
  const argv = [program, 'serve', '--http-port', '0', '--ssh-port', '0', '--state-dir', stateDir]
  const child = spawn(process.execPath, argv, {
    stdio: ['ignore', 'ignore', 'pipe'],
    // A separate session, like a service: otherwise the kernel schedules it together with the clients.
    detached: true,
    env: { ...process.env, WORKSPACE_DOCKER__NETWORK: 'host', WORKSPACE_LOG__FORMAT: 'json', ...environment },
  })
  // Ctrl-C reaches only the terminal's own session.
  const interrupted = (): void => {
    child.kill('SIGTERM')
    process.exit(130)
  }
  process.once('SIGINT', interrupted)
  const [httpPort, sshPort] = await new Promise<[number, number]>((resolve, reject) => {
    let log = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      const ready = /"http":(\d+),"ssh":(\d+),"backends":\["docker"/.exec(log)
      if (ready) resolve([Number(ready[1]), Number(ready[2])])
    })
    child.once('exit', () => reject(new Error(`the server exited: ${log}`)))
  })
  const url = `http://127.0.0.1:${httpPort}`
  const send = async (path: string, method: string, body?: unknown): Promise<void> => {
    const response = await fetch(url + path, {
      method,
      ...(body !== undefined && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    await response.arrayBuffer()
  }
  return {
    url,
    sshPort,
    pid: child.pid ?? 0,
    post: (path, body) => send(path, 'POST', body),
    delete: (path) => send(path, 'DELETE'),
    async stop() {
      process.off('SIGINT', interrupted)
      child.kill('SIGTERM')
      await once(child, 'exit')
      rmSync(stateDir, { recursive: true })
    },
  }
}
