import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { toolEnvironment } from '../../../src/lib/process/tool-environment.ts'
import { freePort } from './free-port.ts'

/** Newer than the system's version if scripts/bus-peers was run. */
const built = join(packageRoot, '.node/peers/nats-server')
const program = existsSync(built) ? built : 'nats-server'

/** A real nats-server on a port of 127.0.0.1, which can be stopped and started again on it. */
export async function startNats(flags: readonly string[] = []) {
  const port = await freePort()
  let child: ChildProcess | undefined
  const begin = async (): Promise<void> => {
    const started = spawn(program, ['-a', '127.0.0.1', '-p', String(port), ...flags], {
      env: toolEnvironment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child = started
    const missing = once(started, 'error').then(([error]: Error[]) => {
      throw new Error('nats-server is missing: run scripts/test-tools', { cause: error })
    })
    await Promise.race([once(started, 'spawn'), missing])
    let isReady = false
    for await (const line of createInterface({ input: started.stderr })) {
      isReady = line.includes('Server is ready')
      if (isReady) break
    }
    // Another program may have taken its port meanwhile.
    if (!isReady) throw new Error(`nats-server did not start on port ${port}`)
    started.stderr.resume()
  }
  const end = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  await begin()
  return { url: `nats://127.0.0.1:${port}`, begin, end }
}
