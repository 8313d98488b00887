import { type IncomingMessage, request } from 'node:http'
import { json, text } from 'node:stream/consumers'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault, type WireError } from '../../errors.ts'
import {
  allRecordFiles,
  readRecord,
  recordFile,
  removeRecord,
  type ServerRecord,
} from '../../lifecycle/server-file.ts'

const PROBE_MS = 3_000

/** What `GET /admin/info` answers. */
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
  readonly uptime: string
  readonly idleDuration: string
  readonly idleTimeout: string
  readonly watch?: {
    readonly directories: number
    readonly refreshes: number
    readonly lastRefreshAt: string | null
    readonly problem?: string
  }
}

/** A server that lives and has shown that it is the one of its record. */
export interface LiveServer {
  readonly record: ServerRecord
  readonly info: ServerInfo
}

/** Sends one request to a server. Throws SERVER_UNREACHABLE, SERVER_TIMEOUT, and the server's own errors. */
export async function ask<T>(
  record: ServerRecord,
  path: string,
  options: { readonly method?: 'GET' | 'POST'; readonly timeoutMs?: number } = {},
): Promise<T> {
  const { method = 'GET', timeoutMs } = options
  const where = `the server of ${record.projectPath} on ${record.host}:${record.port}`
  const signal = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({
      host: connectable(record.host),
      port: record.port,
      path,
      method,
      headers: { authorization: `Bearer ${record.token}`, accept: 'application/json' },
      agent: false,
      ...(signal !== undefined && { signal }),
    })
      .on('response', resolve)
      .on('error', (error) => {
        if (signal?.aborted === true)
          reject(fault('SERVER_TIMEOUT', `${where} did not answer in time`, error))
        else reject(fault('SERVER_UNREACHABLE', `${where} cannot be reached: ${messageOf(error)}`, error))
      })
      .end()
  })
  const { statusCode = 500 } = response
  if (statusCode < 300) return (await json(response)) as T
  throw errorOf(statusCode, await text(response), where)
}

/** A server that listens everywhere is here too. */
function connectable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
}

function errorOf(status: number, body: string, where: string): Error {
  try {
    const { type, message } = JSON.parse(body) as WireError
    if (type === 'NotFound') return fault('CLASS_NOT_FOUND', message)
    if (type === 'BadRequest') return fault('BAD_REQUEST', message)
    if (type === 'ScanNotReady') return fault('SCAN_NOT_READY', message)
    return fault('SERVER_ERROR', message)
  } catch {
    return fault('SERVER_ERROR', `${where} answered ${status}`)
  }
}

/** The running server of a project. A record whose server is gone, or is another's, is removed. */
export async function findServer(projectPath: string): Promise<LiveServer | undefined> {
  return probe(recordFile(projectPath))
}

/** The running server of a project. Throws SERVER_NOT_RUNNING. */
export async function getServer(projectPath: string): Promise<LiveServer> {
  const live = await findServer(projectPath)
  if (live !== undefined) return live
  throw fault('SERVER_NOT_RUNNING', `no server runs for ${projectPath}; start one with: analyzer start`)
}

/** All running servers of this user. */
export async function findAllServers(): Promise<readonly LiveServer[]> {
  const found = await Promise.all(allRecordFiles().map(probe))
  return found.filter((live) => live !== undefined)
}

/** Believes only a process that lives, answers with the record's token, and is the one of the record (threat A8). */
async function probe(file: string): Promise<LiveServer | undefined> {
  const record = readRecord(file)
  if (record === undefined) return undefined
  if (isAlive(record.pid)) {
    try {
      const info = await ask<ServerInfo>(record, '/admin/info', { timeoutMs: PROBE_MS })
      if (info.pid === record.pid) return { record, info }
    } catch {
      // A live process that does not answer may still be starting or stopping: its record stays.
      return undefined
    }
  }
  removeRecord(file, record.pid)
  return undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
