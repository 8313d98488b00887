import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { type AlarmClock, type Clock, systemClock } from '../../../src/lib/clock/clock.ts'
import { create, loadContentConfig, type RunningContent } from '../../../src/content/index.ts'
import type { Store } from '../../../src/content/store/store.ts'
import { FsStore } from '../../../src/content/store/fs-store.ts'
import { cheapHash } from './cheap-hash.ts'
import { tempDir } from '../temp-dir.ts'

type Settings = Readonly<Record<string, unknown>>

/** Content server of a test. */
export interface TestContent {
  readonly url: string
  readonly dir: string
  readonly running: RunningContent
  /** The store of the served files. */
  readonly store: Store
  /** Lines of the log, one JSON object each. */
  readonly log: () => readonly Record<string, unknown>[]
  /** Sends a request as a logged-in reader, without following redirects. */
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>
  /** Sends a request without a session. */
  readonly askAnonymous: (path: string, init?: RequestInit) => Promise<Response>
  readonly logIn: (
    fields?: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>
  readonly cookie: string
}

/** Starts a content server in this process, which stops with the test, and logs a reader in. */
export async function startContent(
  files: Readonly<Record<string, string | Uint8Array>> = {},
  given: {
    readonly settings?: Settings
    readonly dir?: string
    /** Uses the timers of the process unless it has some. */
    readonly clock?: Clock & Partial<AlarmClock>
    readonly store?: (inner: Store) => Store
  } = {},
): Promise<TestContent> {
  const dir = given.dir ?? tempDir()
  const inner = new FsStore(join(dir, 'store'))
  for (const [key, content] of Object.entries(files)) await inner.write(key, Buffer.from(content))
  const flags = {
    http: { port: 0 },
    store: { root: join(dir, 'store') },
    session: { file: join(dir, 'sessions.db'), secure: false },
    ...(given.settings?.['users'] === undefined && { password_hash: cheapHash('right') }),
    ...given.settings,
  }
  const { config } = loadContentConfig({ HOME: dir }, { flags, cwd: dir })
  const lines: string[] = []
  const destination = { write: (line: string) => lines.push(line) }
  const logger = createLogger({ level: 'info', format: 'json', destination: destination as never })
  const running = await create(config, {
    logger,
    ...(given.clock && { clock: withTimers(given.clock) }),
    ...(given.store && { store: given.store(inner) }),
  }).start()
  onTestFinished(() => running.stop())
  const url = `http://127.0.0.1:${running.port}`
  const askAnonymous: TestContent['askAnonymous'] = (path, init = {}) =>
    fetch(url + path, { redirect: 'manual', ...init })
  const logIn: TestContent['logIn'] = (fields = { password: 'right' }, headers = {}) =>
    askAnonymous('/_login', { method: 'POST', body: new URLSearchParams(fields), headers })
  const cookie = given.settings?.['users'] === undefined ? cookieOf(await logIn()) : ''
  const ask: TestContent['ask'] = (path, init = {}) =>
    askAnonymous(path, { ...init, headers: { cookie, ...(init.headers as Record<string, string>) } })
  const log = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  return { url, dir, running, store: inner, log, ask, askAnonymous, logIn, cookie }
}

function withTimers(clock: Clock & Partial<AlarmClock>): AlarmClock {
  const { nowMs, wallMs, after = systemClock.after } = clock
  return { nowMs, wallMs, after }
}

/** Returns the session cookie that a response sets, as a browser sends it back. */
export function cookieOf(response: Response): string {
  return /^_session=[^;]+/.exec(response.headers.get('set-cookie') ?? '')?.[0] ?? ''
}
