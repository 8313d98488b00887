import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { isFault } from '../../../lib/errors/fault.ts'
import { AGENT_PORT, type GuestSetting } from '../../../lib/guest/protocol.ts'
import { fault } from '../../errors.ts'
import { askGuest, GuestRefusal } from './ask-guest.ts'
import { findInitFault, lastLines } from './console-log.ts'
import { isRunning, type MachineProcess } from './machine-process.ts'

const RETRY_MS = 100

export interface Booting {
  readonly process: MachineProcess
  readonly dialGuest: (port: number) => Promise<Duplex>
  readonly setting: GuestSetting
  readonly consoleLog: string
  readonly consoleStart: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Waits until a booting machine's agent answers, and tells it how the machine is to be. Throws BACKEND_ERROR with what is known
 * of the reason when the machine ends, its init gives up, or the time is over.
 */
export async function awaitAgent(booting: Booting): Promise<void> {
  const until = performance.now() + booting.timeoutMs
  for (;;) {
    booting.signal.throwIfAborted()
    const left = until - performance.now()
    const why = await whyNotYet(booting, left)
    if (why === undefined) return
    const said = await findInitFault(booting.consoleLog, booting.consoleStart)
    if (said !== undefined) throw fault('BACKEND_ERROR', `the machine does not boot: ${said}`)
    if (!(await isRunning(booting.process)))
      throw fault('BACKEND_ERROR', `the machine ended while it booted${await consoleEnd(booting)}`)
    if (left <= 0) {
      const seconds = Math.round(booting.timeoutMs / 1000)
      throw fault(
        'BACKEND_ERROR',
        `the agent inside did not answer within ${seconds} s (vm.boot_timeout)${await consoleEnd(booting)}`,
      )
    }
    await delay(RETRY_MS)
  }
}

async function whyNotYet({ dialGuest, setting }: Booting, leftMs: number): Promise<string | undefined> {
  try {
    const connection = await dialGuest(AGENT_PORT)
    await askGuest(connection, { do: 'prepare', ...setting }, Math.max(leftMs, 1_000))
    connection.destroy()
    return undefined
  } catch (error) {
    // It is there, and cannot do what is asked: waiting changes nothing.
    if (error instanceof GuestRefusal)
      throw fault('BACKEND_ERROR', `the machine is not usable: ${error.message}`, error)
    return isFault(error) ? error.message : 'nobody listens'
  }
}

async function consoleEnd({ consoleLog }: Booting): Promise<string> {
  const lines = await lastLines(consoleLog, 3)
  return lines === '' ? '' : `; its console ends with: ${lines}`
}
