import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { AGENT_PORT, type GuestSetting } from '../../../../lib/guest/protocol.ts'
import { fault } from '../../../errors.ts'
import { askGuest, GuestRefusal } from './ask-guest.ts'
import { consoleSize, findInitError, lastLines, hasReportedReady } from '../monitor/console-log.ts'
import { isRunning, type MachineProcess } from '../monitor/machine-process.ts'

const RETRY_MS = 100
/** A console that is silent for this long may not be connected to anything. */
const SILENT_MS = 60_000
/** Maximum extension of the boot timeout while the console keeps printing: it may repeat itself for ever. */
const LONGEST = 5

/** A VM that is booting or resuming. */
export interface Booting {
  readonly process: MachineProcess
  readonly dialGuest: (port: number) => Promise<Duplex>
  readonly setting: GuestSetting
  readonly consoleLog: string
  /** Log of its monitor, including earlier runs. */
  readonly monitorLog: string
  readonly consoleStart: number
  /** Whether its memory was loaded: it boots nothing and prints nothing, and its clock is behind. */
  readonly isResumed: boolean
  /** How long the console may be silent. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Waits until a booting VM's agent responds, and sends it the VM's settings. Console output extends the
 * deadline, because booting on a busy host may take long.
 *
 * @throws BACKEND_ERROR with the likely cause when the VM exits, its init fails, its console is silent for
 * too long, or booting takes too long
 */
export async function awaitAgent(booting: Booting): Promise<void> {
  const { timeoutMs } = booting
  const beganMs = performance.now()
  let movedMs = beganMs
  let size = booting.consoleStart
  const silentUntil = performance.now() + SILENT_MS
  let hasInit = booting.isResumed
  for (;;) {
    booting.signal.throwIfAborted()
    const sizeNow = await consoleSize(booting.consoleLog)
    if (sizeNow !== size) movedMs = performance.now()
    size = sizeNow
    const left = Math.min(movedMs + timeoutMs, beganMs + LONGEST * timeoutMs) - performance.now()
    // The vsock devices of some monitors stay deaf when a connection is attempted before the guest listens.
    hasInit ||= performance.now() > silentUntil || (await hasInitStarted(booting))
    if (hasInit && (await isPrepared(booting, left))) return
    const output = await findInitError(booting.consoleLog, booting.consoleStart)
    if (output !== undefined) throw fault('BACKEND_ERROR', `the VM failed to boot: ${output}`)
    if (!(await isRunning(booting.process)))
      throw fault('BACKEND_ERROR', `the VM exited while booting${await lastOutput(booting)}`)
    if (left <= 0) {
      const seconds = Math.round((performance.now() - beganMs) / 1_000)
      const silentMs = performance.now() - movedMs
      const silent = `has been silent for ${Math.round(silentMs / 1_000)} s`
      const console = silentMs < timeoutMs / 2 ? 'is still printing' : silent
      throw fault(
        'BACKEND_ERROR',
        `the agent did not respond within ${seconds} s, and its console ${console} (vm.boot_timeout)${await lastOutput(booting)}`,
      )
    }
    await delay(RETRY_MS)
  }
}

function hasInitStarted({ consoleLog, consoleStart }: Booting): Promise<boolean> {
  return hasReportedReady(consoleLog, consoleStart)
}

/** Returns false while nothing listens. */
async function isPrepared({ dialGuest, setting, isResumed }: Booting, leftMs: number): Promise<boolean> {
  try {
    const connection = await dialGuest(AGENT_PORT)
    const clock = isResumed ? { clockMs: Date.now() } : {}
    await askGuest(
      connection,
      { do: 'prepare', ...setting, ...clock },
      { timeoutMs: Math.max(leftMs, 1_000) },
    )
    connection.destroy()
    return true
  } catch (error) {
    // The agent runs but cannot do what is asked: waiting changes nothing.
    if (error instanceof GuestRefusal)
      throw fault('BACKEND_ERROR', `the VM cannot be used: ${error.message}`, error)
    return false
  }
}

async function lastOutput({ consoleLog, monitorLog }: Booting): Promise<string> {
  const [console, monitor] = [await lastLines(consoleLog, 3), await lastLines(monitorLog, 3)]
  const output = console === '' ? '' : `; its console ends with: ${console}`
  return monitor === '' ? output : `${output}; its monitor printed: ${monitor}`
}
