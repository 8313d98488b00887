import { setTimeout as delay } from 'node:timers/promises'
import { isAlive } from '../../../lib/process/is-alive.ts'
import { fault } from '../../errors.ts'
import { recordFile, removeRecord, type ServerRecord } from '../../lifecycle/server-file.ts'
import { ask, type HeldProject } from './server-client.ts'

const STOP_MS = 10_000
const POLL_MS = 25

/** Ends a server and waits until it is gone. @throws SERVER_TIMEOUT where it does not end and is not to be killed */
export async function stopServer({ record, isSilent }: HeldProject, force: boolean): Promise<void> {
  const { pid, projectPath } = record
  if (!isSilent && (await isAskedToEnd(record)) && (await isGone(pid))) return
  if (!force) {
    throw fault(
      'SERVER_TIMEOUT',
      `the server of ${projectPath} does not end; kill it with: analyzer stop --force`,
    )
  }
  kill(pid)
  await isGone(pid)
  removeRecord(recordFile(projectPath), pid)
}

function isAskedToEnd(record: ServerRecord): Promise<boolean> {
  return ask(record, '/admin/shutdown', { method: 'POST', timeoutMs: STOP_MS }).then(
    () => true,
    () => false,
  )
}

async function isGone(pid: number): Promise<boolean> {
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
    // It has ended meanwhile.
  }
}
