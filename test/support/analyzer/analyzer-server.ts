import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create, loadAnalyzerConfig, type AnalyzerServer } from '../../../src/analyzer/index.ts'
import { readRecord, recordFile } from '../../../src/analyzer/lifecycle/server-record.ts'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { compiled } from './javac.ts'
import { smallJdk } from './jdk.ts'

/** Folder of a test file, which is deleted with it. */
const home = (): string => process.env['XDG_RUNTIME_DIR'] ?? tmpdir()

/** Analyzer server of a test. */
export interface TestAnalyzer {
  readonly url: string
  readonly token: string
  readonly server: AnalyzerServer
  readonly root: string
  readonly stop: () => Promise<void>
  /** Returns status and body of a GET below `/api/v1`, as text if it is not JSON. */
  readonly ask: (path: string, parameters?: Parameters) => Promise<{ status: number; body: any }>
  /** Returns the body of a successful GET. */
  readonly get: (path: string, parameters?: Parameters) => Promise<any>
}

type Parameters = Readonly<Record<string, string | number | boolean>>

/** Starts a server in this process; its JDK is that of the tests unless the environment sets another. */
export async function startAnalyzer(
  root: string,
  environment: Readonly<Record<string, string>> = {},
  flags: Readonly<Record<string, unknown>> = { server: { mode: 'jar' } },
): Promise<TestAnalyzer> {
  const own = { XDG_CACHE_HOME: join(home(), 'cache'), ANALYZER_JVM_HOME: smallJdk() }
  const config = loadAnalyzerConfig({ ...own, ...environment }, flags)
  const server = await create(
    config,
    { root },
    { logger: createLogger({ level: 'fatal', format: 'json' }) },
  ).start()
  const url = `http://127.0.0.1:${server.port}`
  const token = readRecord(recordFile(root))?.token ?? ''
  try {
    await server.ready
  } catch (error) {
    await server.stop()
    throw error
  }
  const ask: TestAnalyzer['ask'] = async (path, parameters = {}) => {
    const query = new URLSearchParams(
      Object.entries(parameters).map(([key, value]): [string, string] => [key, String(value)]),
    ).toString()
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${url}/api/v1${path}${query === '' ? '' : `?${query}`}`, { headers })
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
    return { status: response.status, body: await (isJson ? response.json() : response.text()) }
  }
  return {
    url,
    token,
    server,
    root,
    stop: server.stop,
    ask,
    get: async (path, parameters) => {
      const { status, body } = await ask(path, parameters)
      if (status !== 200) throw new Error(`${path} answered ${status}: ${JSON.stringify(body)}`)
      return body
    },
  }
}

/** Creates a Maven project that was not compiled. */
export function emptyProject(): string {
  const root = join(mkdtempSync(join(home(), 'project-')), 'shop')
  mkdirSync(root)
  writeFileSync(join(root, 'pom.xml'), '<project/>')
  return root
}

/** Creates a Maven project for this test process, with the classes of a folder in test/fixtures/java. */
export function projectOf(fixture: string, options: readonly string[] = []): string {
  const root = emptyProject()
  mkdirSync(join(root, 'target'))
  cpSync(compiled(fixture, options), join(root, 'target/classes'), { recursive: true })
  return root
}
