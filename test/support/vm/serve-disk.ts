import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { MachineDisk } from '../workspace/disk/machine-disk.ts'
import { CLI } from '../workspace/client/workspace-cli.ts'
import { type Api, apiOf } from '../workspace/server/test-server.ts'

/** A server in a separate process that owns these VMs; with options of strace(1) it runs under strace. */
export async function serveDisk(
  disk: MachineDisk,
  stateDir: string,
  strace: readonly string[] = [],
): Promise<{ readonly api: Api; readonly end: () => Promise<void> }> {
  const runDir = mkdtempSync('/tmp/vm-')
  onTestFinished(() => rmSync(runDir, { recursive: true, force: true }))
  const config = join(runDir, 'config.yaml')
  writeFileSync(
    config,
    JSON.stringify({
      enabled_backends: ['qemu'],
      default_backend: 'qemu',
      state_dir: stateDir,
      http: { port: 0 },
      ssh: { port: 0, processes: 0 },
      vm: { run_dir: runDir },
      qemu: { root: disk.root },
    }),
  )
  const traced = strace.length === 0 ? [] : ['strace', '-f', '-qq', '-o', '/dev/null', ...strace]
  const [program, ...argv] = [...traced, ...CLI, 'serve', '--config', config]
  const child = spawn(program, argv, { stdio: ['ignore', 'ignore', 'pipe'], detached: true })
  const exit = once(child, 'close')
  const end = async (): Promise<void> => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has exited.
    }
    await exit
  }
  onTestFinished(end)
  const port = await new Promise<number>((resolve, reject) => {
    let log = ''
    createInterface({ input: child.stderr }).on('line', (line) => {
      log += `${line}\n`
      const ready = /"http":(\d+).*is ready/.exec(line)
      if (ready) resolve(Number(ready[1]))
    })
    void exit.then(() => reject(new Error(`the server ended: ${log}`)))
  })
  return { api: apiOf(`http://127.0.0.1:${port}`), end }
}
