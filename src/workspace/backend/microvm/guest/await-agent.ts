import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { AGENT_PORT, type GuestSetting } from '../../../../lib/guest/protocol.ts'
import { fault } from '../../../errors.ts'
import { askGuest, GuestRefusal } from './ask-guest.ts'
import { consoleSize, findInitFault, lastLines, saysReady } from '../monitor/console-log.ts'
import { isRunning, type MachineProcess } from '../monitor/machine-process.ts'

const RETRY_MS = 100
/** A console that says nothing for so long may be one that nobody hears. */
const SILENT_MS = 60_000
/** How many times longer than its time-out a boot may take whose console goes on: it may repeat itself for ever. */
const LONGEST = 5

export interface Booting {
  readonly process: MachineProcess
  readonly dialGuest: (port: number) => Promise<Duplex>
  readonly setting: GuestSetting
  readonly consoleLog: string
  /** What its monitor says, of earlier runs too. */
  readonly monitorLog: string
  readonly consoleStart: number
  /** How long nothing may come from its console. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Waits until a booting machine's agent answers, and tells it how the machine is to be.
 *
 * A console that goes on extends the time that it has: on a busy host a boot may take long.
 *
 * @throws BACKEND_ERROR with what is known of the reason when the machine ends, its init gives up, or its console is silent for
 * too long or goes on for too long
 */
export async function awaitAgent(booting: Booting): Promise<void> {
  const { timeoutMs } = booting
  const beganMs = performance.now()
  let movedMs = beganMs
  let size = booting.consoleStart
  const silentUntil = performance.now() + SILENT_MS
  let hasInit = false
  for (;;) {
    booting.signal.throwIfAborted()
    const sizeNow = await consoleSize(booting.consoleLog)
    if (sizeNow !== size) movedMs = performance.now()
    size = sizeNow
    const left = Math.min(movedMs + timeoutMs, beganMs + LONGEST * timeoutMs) - performance.now()
    // Knocked at before there is anybody, vsock devices of some monitors stay deaf.
    hasInit ||= performance.now() > silentUntil || (await hasInitStarted(booting))
    if (hasInit && (await isPrepared(booting, left))) return
    const said = await findInitFault(booting.consoleLog, booting.consoleStart)
    if (said !== undefined) throw fault('BACKEND_ERROR', `the machine does not boot: ${said}`)
    if (!(await isRunning(booting.process)))
      throw fault('BACKEND_ERROR', `the machine ended while it booted${await lastWords(booting)}`)
    if (left <= 0) {
      const seconds = Math.round((performance.now() - beganMs) / 1_000)
      const silentMs = performance.now() - movedMs
      const silent = `has been silent for ${Math.round(silentMs / 1_000)} s`
      const console = silentMs < timeoutMs / 2 ? 'goes on' : silent
      throw fault(
        'BACKEND_ERROR',
        `the agent inside did not answer within ${seconds} s, and its console ${console} (vm.boot_timeout)${await lastWords(booting)}`,
      )
    }
    await delay(RETRY_MS)
  }
}

function hasInitStarted({ consoleLog, consoleStart }: Booting): Promise<boolean> {
  return saysReady(consoleLog, consoleStart)
}

/** False while nobody listens. */
async function isPrepared({ dialGuest, setting }: Booting, leftMs: number): Promise<boolean> {
  try {
    const connection = await dialGuest(AGENT_PORT)
    await askGuest(connection, { do: 'prepare', ...setting }, Math.max(leftMs, 1_000))
    connection.destroy()
    return true
  } catch (error) {
    // It is there, and cannot do what is asked: waiting changes nothing.
    if (error instanceof GuestRefusal)
      throw fault('BACKEND_ERROR', `the machine is not usable: ${error.message}`, error)
    return false
  }
}

async function lastWords({ consoleLog, monitorLog }: Booting): Promise<string> {
  const [console, monitor] = [await lastLines(consoleLog, 3), await lastLines(monitorLog, 3)]
  const said = console === '' ? '' : `; its console ends with: ${console}`
  return monitor === '' ? said : `${said}; its monitor said: ${monitor}`
}
