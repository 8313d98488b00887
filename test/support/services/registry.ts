import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { tempDir } from '../temp-dir.ts'
import { answers } from '../answers.ts'
import { waitFor } from '../wait-for.ts'
import { freePort } from './free-port.ts'

/** A container registry on this machine, which an engine trusts because of its loopback address. */
export async function startRegistry(): Promise<{
  readonly address: string
  readonly stop: () => Promise<void>
}> {
  const port = await freePort()
  const directory = tempDir()
  mkdirSync(join(directory, 'images'))
  const config = {
    version: 0.1,
    log: { level: 'error' },
    storage: { filesystem: { rootdirectory: join(directory, 'images') }, delete: { enabled: true } },
    http: { addr: `127.0.0.1:${port}` },
  }
  writeFileSync(join(directory, 'config.yml'), JSON.stringify(config))
  const child = spawn('docker-registry', ['serve', join(directory, 'config.yml')], { stdio: 'ignore' })
  const ended = once(child, 'close')
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(stop)
  const address = `127.0.0.1:${port}`
  await waitFor('the registry', () => answers(`http://${address}/v2/`))
  return { address, stop }
}
