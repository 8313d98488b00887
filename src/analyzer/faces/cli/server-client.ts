import type { IncomingMessage } from 'node:http'
import { json, text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { messageOf } from '../../../lib/errors/message.ts'
import { request } from '../../../lib/http/node-http.ts'
import { isRunning } from '../../../lib/process/process-identity.ts'
import type { ConfinementLevel } from '../../../lib/sandbox/confine.ts'
import { errorSchema, fault } from '../../errors.ts'
import { isProjectLocked } from '../../lifecycle/project-lock.ts'
import {
  allRecordFiles,
  readRecord,
  recordFile,
  removeRecord,
  type ServerRecord,
} from '../../lifecycle/server-record.ts'
import type { ScanProgress } from '../../scan/scan-progress.ts'
import { parseJson } from '../../../lib/schema/parse-json.ts'

const PROBE_MS = 3_000
/** Timeout of a query; the slowest is the hierarchy of java.lang.Object. */
const ANSWER_MS = 60_000
/** Timeout of a source query: decompiling has its own limit, and may wait for other classes. */
export const SOURCE_ANSWER_MS = 300_000

/** Response of `GET /admin/info`. */
interface ServerInfo {
  readonly pid: number
  readonly version: string
  readonly projectPath: string
  readonly projectName: string
  readonly host: string
  readonly port: number
  readonly mode: string
  readonly status: string
  readonly reason?: string
  /** Of a running scan; missing from servers of older versions. */
  readonly progress?: ScanProgress
  readonly uptime: string
  readonly idleDuration: string
  readonly idleTimeout: string
  /** Missing from servers of older versions. */
  readonly confinement?: ConfinementLevel
  readonly watch?: {
    readonly directories: number
    readonly refreshes: number
    readonly lastRefreshAt: string | null
    readonly problem?: string
  }
}

/** A running server that matches its record. */
export interface LiveServer {
  readonly record: ServerRecord
  readonly info: ServerInfo
}

/**
 * Sends a request to a server and returns its response, as text if it is not JSON.
 *
 * @throws SERVER_UNREACHABLE, SERVER_TIMEOUT, and the server's own errors
 */
export async function sendRequest<T>(
  record: ServerRecord,
  path: string,
  options: {
    readonly method?: 'GET' | 'POST'
    /** Sent as JSON. */
    readonly body?: object | undefined
    readonly timeoutMs?: number | undefined
  } = {},
): Promise<T> {
  const { method = 'GET', body, timeoutMs = ANSWER_MS } = options
  const where = `the server of ${record.projectPath} on ${record.host}:${record.port}`
  const signal = AbortSignal.timeout(timeoutMs)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({
      host: connectable(record.host),
      port: record.port,
      path,
      method,
      headers: {
        authorization: `Bearer ${record.token}`,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      agent: false,
      signal,
    })
      .on('response', resolve)
      .on('error', (error) => {
        if (signal.aborted) reject(fault('SERVER_TIMEOUT', `${where} did not respond in time`, error))
        else reject(fault('SERVER_UNREACHABLE', `${where} is unreachable: ${messageOf(error)}`, error))
      })
      .end(body === undefined ? undefined : JSON.stringify(body))
  })
  const { statusCode = 500 } = response
  if (statusCode >= 300) throw errorOf(statusCode, await text(response), where)
  const isJson = response.headers['content-type']?.startsWith('application/json') ?? false
  return (await (isJson ? json(response) : text(response))) as T
}

/** A server that listens on all addresses also listens on loopback. */
function connectable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
}

function errorOf(status: number, body: string, where: string): Error {
  const answer = parseJson(errorSchema, body)
  if (answer === undefined) return fault('SERVER_ERROR', `${where} responded with status ${status}`)
  const { type, message } = answer
  if (type === 'NotFound') return fault('CLASS_NOT_FOUND', message)
  if (type === 'BadRequest') return fault('BAD_REQUEST', message)
  if (type === 'ScanNotReady') return fault('SCAN_NOT_READY', message)
  return fault('SERVER_ERROR', message)
}

/**
 * Result of probing a record. `unresponsive` is a server that holds its project's lock but does not respond.
 */
type ProbeResult =
  | { readonly is: 'none' }
  | { readonly is: 'live'; readonly live: LiveServer }
  | { readonly is: 'unresponsive'; readonly record: ServerRecord; readonly why: Error }

/**
 * Returns the running server of a project if it responds. Removes a record whose server exited or belongs to
 * another project.
 */
export async function findServer(projectPath: string): Promise<LiveServer | undefined> {
  const result = await probe(recordFile(projectPath))
  return result.is === 'live' ? result.live : undefined
}

/**
 * Returns the running server of a project.
 *
 * @throws SERVER_NOT_RUNNING, and SERVER_TIMEOUT or SERVER_UNREACHABLE if it does not respond
 */
export async function getServer(projectPath: string): Promise<LiveServer> {
  const result = await probeProject(projectPath)
  if (result.is === 'live') return result.live
  if (result.is === 'unresponsive') throw result.why
  throw notRunning(projectPath)
}

/** A server to stop; it need not respond. */
export interface ServerProcess {
  readonly record: ServerRecord
  readonly isUnresponsive: boolean
}

/** Returns the server that holds a project's lock, whether it responds or not. */
export async function findServerProcess(projectPath: string): Promise<ServerProcess | undefined> {
  const result = await probeProject(projectPath)
  return result.is === 'none' ? undefined : processOf(result)
}

/** Returns the server that holds a project's lock. @throws SERVER_NOT_RUNNING */
export async function getServerProcess(projectPath: string): Promise<ServerProcess> {
  const holder = await findServerProcess(projectPath)
  if (holder === undefined) throw notRunning(projectPath)
  return holder
}

function notRunning(projectPath: string) {
  return fault(
    'SERVER_NOT_RUNNING',
    `no server is running for ${projectPath}; start one with: analyzer start`,
  )
}

/** Returns all running servers of this user that respond. */
export async function findAllServers(): Promise<readonly LiveServer[]> {
  const found = await Promise.all(allRecordFiles().map(probe))
  return found.flatMap((result) => (result.is === 'live' ? [result.live] : []))
}

/** Returns all running servers of this user, whether they respond or not. */
export async function findAllServerProcesses(): Promise<readonly ServerProcess[]> {
  const found = await Promise.all(allRecordFiles().map(probe))
  return found.flatMap((result) => (result.is === 'none' ? [] : [processOf(result)]))
}

function processOf(result: Exclude<ProbeResult, { readonly is: 'none' }>): ServerProcess {
  const { record } = result.is === 'live' ? result.live : result
  return { record, isUnresponsive: result.is === 'unresponsive' }
}

const RECORD_MS = 3_000
const POLL_MS = 100

/** Waits briefly for a damaged or missing record: the server that holds the lock writes it again. */
async function probeProject(projectPath: string): Promise<ProbeResult> {
  const file = recordFile(projectPath)
  const untilMs = performance.now() + RECORD_MS
  for (;;) {
    const result = await probe(file)
    if (result.is !== 'none' || performance.now() > untilMs || !(await isProjectLocked(projectPath)))
      return result
    await delay(POLL_MS)
  }
}

/**
 * Trusts only the exact process of the record, if it responds as such or at least holds the project's lock
 * (threat A8). Never sends the token to another process that got its PID.
 */
async function probe(file: string): Promise<ProbeResult> {
  const record = readRecord(file)
  if (record === undefined) return { is: 'none' }
  if (isRunning(record)) {
    try {
      const info = await sendRequest<ServerInfo>(record, '/admin/info', { timeoutMs: PROBE_MS })
      if (info.pid === record.pid && info.projectPath === record.projectPath)
        return { is: 'live', live: { record, info } }
    } catch (error) {
      // A server that is starting, stopping or hanging still holds its lock.
      if (await isProjectLocked(record.projectPath))
        return { is: 'unresponsive', record, why: error as Error }
    }
  }
  removeRecord(file, record.pid)
  return { is: 'none' }
}
