import { execFileSync, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../src/lib/process/run.ts'
import { waitFor } from '../support/wait-for.ts'

/** Starts a separate engine in this network namespace with the image of the machine's engine. */
export async function startEngine(
  image: string,
): Promise<{ readonly address: string; readonly remove: () => Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'redteam-engine-'))
  const address = `unix://${join(directory, 'docker.sock')}`
  const log = openSync(join(directory, 'dockerd.log'), 'a')
  const paths = ['data-root', 'exec-root', 'pidfile'].map((name) => `--${name}=${join(directory, name)}`)
  const daemon = spawn('dockerd', ['--host', address, '--storage-driver=overlay2', ...paths], {
    stdio: ['ignore', log, log],
  })
  const remove = async (): Promise<void> => {
    const ended = new Promise((resolve) => daemon.once('exit', resolve))
    if (daemon.exitCode === null && daemon.kill('SIGTERM')) await ended
    closeSync(log)
    const { stdout } = await run('findmnt', ['-rno', 'TARGET'])
    for (const path of stdout
      .split('\n')
      .filter((each) => each.startsWith(directory))
      .toReversed())
      await run('umount', ['-l', path])
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    const answers = async () => (await run('docker', ['-H', address, 'version'])).status === 0
    await waitFor('the engine', answers, 60_000)
    // Piped from engine to engine without a temporary file.
    execFileSync('sh', ['-c', 'docker save "$1" | docker -H "$2" load', 'sh', image, address], {
      stdio: 'ignore',
    })
    return { address, remove }
  } catch (error) {
    const said = readFileSync(join(directory, 'dockerd.log'), 'utf8').slice(-1_000)
    await remove()
    throw new Error(`the engine does not start: ${said}`, { cause: error })
  }
}
