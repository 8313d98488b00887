import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { create, loadSupervisorConfig, type RunningSupervisor } from '../../../src/supervisor/index.ts'
import { tempDir } from '../temp-dir.ts'
import { waitFor } from '../wait-for.ts'

/** Supervisor of a test. */
export interface TestSupervisor {
  readonly url: string
  readonly running: RunningSupervisor
  readonly dir: string
  readonly configFile: string
  readonly write: (settings: Readonly<Record<string, unknown>>) => void
  /** Sends a request below `/api/v1` and returns its status and body. */
  readonly ask: (
    path: string,
    method?: string,
    headers?: Record<string, string>,
  ) => Promise<{ status: number; body: any }>
  /** Waits until a process has a status. */
  readonly until: (process: string, status: string) => Promise<void>
}

type Settings = Readonly<Record<string, unknown>>

/** Returns settings of a supervisor on free ports with a temporary state directory. */
function settingsOf(processes: Settings, more: Settings = {}): Settings {
  return { api: { port: 0 }, log: { level: 'silent' }, state_dir: 'state', ...more, processes }
}

/** Starts a supervisor in this process; it stops with the test. */
export async function startSupervisor(
  processes: Settings,
  more: Settings = {},
  dir = tempDir(),
  platform = process.platform,
): Promise<TestSupervisor> {
  const configFile = join(dir, 'supervisor.yaml')
  const write = (settings: Settings): void => writeFileSync(configFile, stringify(settings))
  write(settingsOf(processes, more))
  const { config, warnings } = loadSupervisorConfig({ HOME: dir }, { file: configFile })
  // Ignored settings of ports would let tests share the default ones.
  if (warnings.length > 0) throw new Error(warnings.join('\n'))
  const logger = createLogger({ level: 'fatal', format: 'json' })
  const running = await create(config, {
    logger,
    environment: { PATH: process.env['PATH'], HOME: dir },
    platform,
  }).start()
  onTestFinished(() => running.stop())
  const url = `http://127.0.0.1:${running.port}`
  const ask: TestSupervisor['ask'] = async (path, method = 'GET', headers = {}) => {
    const response = await fetch(`${url}/api/v1${path}`, { method, headers })
    return { status: response.status, body: await response.json() }
  }
  const until = (name: string, status: string): Promise<void> =>
    waitFor(`${name} to be ${status}`, async () => (await ask(`/processes/${name}`)).body.status === status)
  return { url, running, dir, configFile, write, ask, until }
}
