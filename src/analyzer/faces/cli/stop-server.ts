import { setTimeout as delay } from 'node:timers/promises'
import { isAlive } from '../../../lib/process/is-alive.ts'
import { fault } from '../../errors.ts'
import { recordFile, removeRecord, type ServerRecord } from '../../lifecycle/server-record.ts'
import { sendRequest, type ServerProcess } from './server-client.ts'

const STOP_MS = 10_000
const POLL_MS = 25

/**
 * Stops a server and waits until it exits. @throws SERVER_TIMEOUT when it does not exit and `force` is false
 */
export async function stopServer({ record, isUnresponsive }: ServerProcess, force: boolean): Promise<void> {
  const { pid, projectPath } = record
  if (!isUnresponsive && (await requestShutdown(record)) && (await hasExited(pid))) return
  if (!force) {
    throw fault(
      'SERVER_TIMEOUT',
      `the server of ${projectPath} did not stop; kill it with: analyzer stop --force`,
    )
  }
  kill(pid)
  await hasExited(pid)
  removeRecord(recordFile(projectPath), pid)
}

function requestShutdown(record: ServerRecord): Promise<boolean> {
  return sendRequest(record, '/admin/shutdown', { method: 'POST', timeoutMs: STOP_MS }).then(
    () => true,
    () => false,
  )
}

async function hasExited(pid: number): Promise<boolean> {
  const untilMs = performance.now() + STOP_MS
  while (performance.now() < untilMs) {
    if (!isAlive(pid)) return true
    await delay(POLL_MS)
  }
  return false
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It exited in the meantime.
  }
}
