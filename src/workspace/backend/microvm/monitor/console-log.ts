import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { ignoreMissing } from '../../../../lib/fs/ignore-missing.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { lastLogLines, logLinesOf } from '../../log-lines.ts'

/** Maximum size of a console log, and how much of its end is kept when it is truncated. */
const MAX_BYTES = 16 * 1024 * 1024
const KEPT_BYTES = 5 * 1024 * 1024
const FAULT = /^.*workspace-init: FAULT (.{1,500}?)\s*$/m
const READY = /workspace-init: ready/
const MAX_READ_BYTES = 1024 * 1024
const FOLLOW_EVERY_MS = 300

/** Returns the size of a log in bytes; 0 when there is none. */
export async function consoleSize(path: string): Promise<number> {
  return (await withFile(path, async (file) => (await file.stat()).size)) ?? 0
}

/** Returns the boot failure that the init inside reported since `start`, or undefined. */
export async function findInitError(path: string, start: number): Promise<string | undefined> {
  // Guest output is untrusted: control characters are stripped from the message.
  // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
  return FAULT.exec(await printedSince(path, start))?.[1]?.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, '')
}

/** Returns whether the init inside has reported since `start` that it starts the image's init. */
export async function hasReportedReady(path: string, start: number): Promise<boolean> {
  return READY.test(await printedSince(path, start))
}

/** Returns the console output since `start`, limited to its end. */
async function printedSince(path: string, start: number): Promise<string> {
  return (await readEnd(path, MAX_READ_BYTES, start)).toString('latin1')
}

/** Returns the last lines of a console, from at most 1 MiB. */
export async function readConsole(path: string, count: number): Promise<readonly string[]> {
  return lastLogLines((await readEnd(path, MAX_READ_BYTES)).toString(), count)
}

/** Yields the last lines of a console, then new ones, across restarts of the VM, until the signal aborts. */
export async function* followConsole(
  path: string,
  count: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const size = await consoleSize(path)
  const tail = await readFrom(path, Math.max(0, size - MAX_READ_BYTES), Math.min(size, MAX_READ_BYTES))
  yield* lastLogLines(tail.toString(), count)
  yield* logLinesOf(appendedTo(path, size, signal))
}

/** Yields what is appended to a file after `start`. After a truncation it continues at the file's end. */
async function* appendedTo(path: string, start: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  let at = start
  while (!signal.aborted) {
    const size = await consoleSize(path)
    const part = size > at ? await readFrom(path, at, 64 * 1024) : Buffer.alloc(0)
    at = size < at ? size : at + part.length
    if (part.length > 0) yield part
    else await delay(FOLLOW_EVERY_MS, undefined, { signal }).catch(ignore('the reader has left'))
  }
}

async function readFrom(path: string, at: number, mostBytes: number): Promise<Buffer> {
  const part = await withFile(path, async (file) => {
    const buffer = Buffer.alloc(mostBytes)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
    return buffer.subarray(0, bytesRead)
  })
  return part ?? Buffer.alloc(0)
}

/** Returns the last lines of a log, for a message. */
export async function lastLines(path: string, count: number): Promise<string> {
  const printed = (await readEnd(path, 4096)).toString('latin1')
  return printed
    .replaceAll(/[^\n\u0020-\u007e]/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-count)
    .join(' | ')
}

/** Returns the end of what a log received after `start`; empty when there is no log. */
async function readEnd(path: string, mostBytes: number, start = 0): Promise<Buffer> {
  const end = await withFile(path, async (file) => {
    const { size } = await file.stat()
    // A log that was truncated in the meantime may be shorter than this run's start offset.
    const from = Math.max(size < start ? 0 : start, size - mostBytes)
    const buffer = Buffer.alloc(size - from)
    await file.read(buffer, 0, buffer.length, from)
    return buffer
  })
  return end ?? Buffer.alloc(0)
}

/** Final kernel messages, logged at a level that every console shows. Source: Linux, kernel/reboot.c. */
const LAST_MESSAGES = /reboot: (?:(Restarting system)|Power down|System halted)/g

/** Returns how a kernel ended its VM, judging by its last message since `start`; undefined without one. */
export async function findLastKernelMessage(
  path: string,
  start: number,
): Promise<'off' | 'rebooting' | undefined> {
  const printed = (await readEnd(path, 4096, start)).toString('latin1')
  const last = [...printed.split('\n').slice(-4).join('\n').matchAll(LAST_MESSAGES)].at(-1)
  if (last === undefined) return undefined
  return last[1] === undefined ? 'off' : 'rebooting'
}

/** Truncates an overlong log to its end, in place, because its writer appends. */
export async function boundLog(path: string): Promise<void> {
  await withFile(
    path,
    async (file) => {
      const { size } = await file.stat()
      if (size <= MAX_BYTES) return
      const kept = Buffer.alloc(KEPT_BYTES)
      await file.read(kept, 0, kept.length, size - kept.length)
      await file.truncate(0)
      await file.write(kept, 0, kept.length, 0)
    },
    constants.O_RDWR,
  )
}

async function withFile<T>(
  path: string,
  work: (file: FileHandle) => Promise<T>,
  flags: number = constants.O_RDONLY,
): Promise<T | undefined> {
  const file = await open(path, flags | constants.O_NOFOLLOW).catch(ignoreMissing)
  if (file === undefined) return undefined
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}
