import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readProcStat } from '../../../src/lib/process/proc-stat.ts'
import { findMachine } from '../../../src/workspace/backend/microvm/stray-machines.ts'
import { serve } from '../../support/served.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { machineRoots, vmSettings } from '../../support/vm/vm-server.ts'
import { waitClosely, waitFor } from '../../support/wait-for.ts'
import { call, makeWorkspace } from '../../support/workspace/server/test-server.ts'

const roots = machineRoots()
const instance = (file: string) => join(roots.root, 'instances/demo', file)
const upper = join(roots.root, 'uppers/demo/upper.ext4')
const run = (): { readonly isReady: boolean } | null => {
  try {
    return JSON.parse(readFileSync(instance('metadata.json'), 'utf8')).run
  } catch {
    return null
  }
}

/** Waits for a directory, created on first use, to be empty; leftovers are deleted while the server already runs. */
function untilEmpty(directory: string): Promise<void> {
  return waitFor(
    `${directory} to be empty`,
    () => !existsSync(directory) || readdirSync(directory).length === 0,
  )
}

/** Returns the command lines of processes that have a path below a directory among their arguments. */
function namingPathsIn(directory: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      } catch {
        // It has exited.
        return ''
      }
    })
    .filter((line) => line.includes(`${directory}/`))
}

/** The steps of a creation, by the first file each leaves. */
const STEPS: readonly (readonly [string, () => boolean])[] = [
  ['its mark is made', () => existsSync(instance('.creating'))],
  ['its metadata is written', () => existsSync(instance('metadata.json'))],
  ['its disk is made', () => existsSync(upper)],
  ['its sockets’ directory is made', () => readdirSync(roots.runDir).length > 0],
  ['its network is provided', () => globSync(join(roots.runDir, '*/net.sock')).length > 0],
  ['its vsock is provided', () => globSync(join(roots.runDir, '*/vhost.sock')).length > 0],
  ['its monitor listens', () => globSync(join(roots.runDir, '*/qmp.sock')).length > 0],
  ['its monitor is noted', () => run() !== null],
]

test('F1 a server killed at any step of creating a machine leaves nothing of it', async () => {
  const stateDir = join(tempDir(), 'state')
  const settings = await vmSettings(roots)
  onTestFinished(() => roots.remove())
  let server = await serve({ stateDir, settings })
  for (const [step, isThere] of STEPS) {
    const creation = makeWorkspace(server.url, { name: 'demo' })
    creation.catch(() => undefined)
    await waitClosely(step, isThere)
    await server.end('SIGKILL')
    await expect(creation, step).rejects.toThrow('fetch failed')
    server = await serve({ stateDir, settings })
    expect((await server.api('workspaces')).body, step).toEqual({ workspaces: [] })
    expect(await findMachine({ disk: upper }), step).toEqual([])
    for (const directory of ['instances', 'uppers']) await untilEmpty(join(roots.root, directory))
    expect(readdirSync(roots.runDir), step).toEqual([])
    await waitFor('its helpers to exit', () => namingPathsIn(roots.runDir).length === 0)
  }
})

test('F1 a server killed while a machine runs, stops or is deleted finds it in that state', async () => {
  const again = machineRoots()
  onTestFinished(() => again.remove())
  const stateDir = join(tempDir(), 'state')
  const settings = await vmSettings(again)
  let server = await serve({ stateDir, settings })
  const demo = () => `${server.url}/api/workspaces/demo`
  await makeWorkspace(server.url, { name: 'demo' })
  const { pid } = (await call(demo())).body
  const stopping = call(`${demo()}/stop`, 'POST')
  stopping.catch(() => undefined)
  await server.end('SIGKILL')
  server = await serve({ stateDir, settings })
  // Either it had started to shut down or had not been asked yet.
  const { body } = await call(demo())
  expect(['running', 'stopped', 'error']).toContain(body.status)
  if (body.status === 'running') expect(body.pid).toBe(pid)
  const deleting = call(demo(), 'DELETE')
  deleting.catch(() => undefined)
  await waitClosely('the disk is deleted', () => !existsSync(join(again.root, 'uppers/demo/upper.ext4')))
  await server.end('SIGKILL')
  server = await serve({ stateDir, settings })
  expect((await server.api('workspaces')).body).toEqual({ workspaces: [] })
  for (const directory of ['instances', 'uppers']) await untilEmpty(join(again.root, directory))
  // The process that adopted it reaps it in its own time.
  await waitFor('its monitor to exit', () => /^(?:Z|)$/.test(readProcStat(pid)?.state ?? ''))
})
