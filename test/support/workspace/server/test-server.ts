import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { createLogger } from '../../../../src/lib/log/logger.ts'
import type { Backend } from '../../../../src/workspace/backend/backend.ts'
import type { Walker } from '../../../../src/workspace/disk/walker.ts'
import { loadWorkspaceConfig } from '../../../../src/workspace/config.ts'
import { create, type WorkspaceServer } from '../../../../src/workspace/index.ts'
import type { AlarmClock } from '../../../../src/lib/clock/clock.ts'

/** Method, body and headers of a request; by default GET without either. */
type JsonRequest = readonly [method?: string, body?: unknown, headers?: Readonly<Record<string, string>>]

/** Answer with a decoded body, which is undefined when it is empty. */
export interface JsonAnswer {
  readonly status: number
  readonly body: any
  readonly headers: Headers
}

/** Sends JSON to a path below `/api/` and reads JSON. */
export type Api = (path: string, ...request: JsonRequest) => Promise<JsonAnswer>

/** Workspace server of a test. */
export interface TestServer extends WorkspaceServer {
  readonly url: string
  readonly api: Api
  /** Requests a new workspace; `makeWorkspace` also checks the answer. */
  readonly create: (body: unknown, headers?: Readonly<Record<string, string>>) => Promise<JsonAnswer>
  readonly stateDir: string
  /** Everything logged so far. */
  readonly log: () => string
  /** Stops this server and starts another on the same state directory and backends. */
  readonly restart: () => Promise<TestServer>
}

/** Options of a test's workspace server. */
export interface TestServerOptions {
  readonly backends?: () => readonly Backend[]
  readonly settings?: Readonly<Record<string, unknown>>
  readonly stateDir?: string
  /** Directory of the guest programs. */
  readonly guestDir?: string
  readonly clock?: AlarmClock
  readonly walker?: Walker
}

/** A complete server on free ports of 127.0.0.1, with a separate state directory. */
export async function startWorkspaceServer(options: TestServerOptions = {}): Promise<TestServer> {
  if (options.stateDir !== undefined) return startAt(options.stateDir, options, () => Promise.resolve())
  const stateDir = await mkdtemp(join(tmpdir(), 'workspace-state-'))
  const remove = (): Promise<void> => rm(stateDir, { recursive: true, force: true })
  return startAt(stateDir, options, remove).catch(async (error: unknown) => {
    await remove()
    throw error
  })
}

/** @param stopped called when the server, or the last of its restarts, has stopped */
async function startAt(
  stateDir: string,
  options: TestServerOptions,
  stopped: () => Promise<void>,
): Promise<TestServer> {
  const lines: string[] = []
  const destination = new PassThrough().setEncoding('utf8').on('data', (line: string) => lines.push(line))
  const settings = options.settings as { http?: object; ssh?: object } | undefined
  const { config } = loadWorkspaceConfig(
    {},
    {
      flags: {
        name: 'test-server',
        ...settings,
        state_dir: stateDir,
        http: { port: 0, ...settings?.http },
        ssh: { port: 0, ...settings?.ssh },
      },
    },
  )
  const logger = createLogger({ level: 'debug', format: 'json', destination })
  const backends = options.backends?.()
  const server = await create(config, {
    logger,
    guestDir: options.guestDir,
    ...(backends && { backends }),
    ...(options.clock && { clock: options.clock }),
    ...(options.walker && { walker: options.walker }),
  }).start()
  const stop = async (): Promise<void> => {
    await server.stop()
    await stopped()
  }
  const url = `http://127.0.0.1:${server.httpPort}`
  const api = apiOf(url)
  return {
    ...server,
    stop,
    url,
    api,
    create: (body, headers) => api('workspaces', 'POST', body, headers),
    stateDir,
    log: () => lines.join(''),
    async restart() {
      await server.stop()
      return startAt(stateDir, options, stopped)
    },
  }
}

/** Sends JSON and reads JSON. */
export async function call(
  url: string,
  ...[method = 'GET', body, headers]: JsonRequest
): Promise<JsonAnswer> {
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return {
    status: response.status,
    body: text === '' ? undefined : JSON.parse(text),
    headers: response.headers,
  }
}

/** The client of a server. */
export function apiOf(url: string): Api {
  return (path, ...request) => call(`${url}/api/${path}`, ...request)
}

/** Creates a workspace for the test; fails with the server's response when it cannot. */
export async function makeWorkspace(
  url: string,
  body: { readonly name: string; readonly [property: string]: unknown },
): Promise<void> {
  const answer = await apiOf(url)('workspaces', 'POST', body)
  if (answer.status !== 201) throw new Error(`${body.name}: ${JSON.stringify(answer.body)}`)
}
