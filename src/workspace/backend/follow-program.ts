import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { ExecProcess } from './backend.ts'

const PROGRESS_EVERY_MS = 200
const KEPT_LINES = 8
const MAX_LINE = 4_096

/** Hangs up a program when `signal` is aborted. Returns a function that unsubscribes. */
export function hangUpOnAbort(signal: AbortSignal, process: ExecProcess): () => void {
  const stop = (): void => void process.hangUp()
  signal.addEventListener('abort', stop, { once: true })
  // The signal was aborted while the program was starting: its event has already fired.
  if (signal.aborted) stop()
  return () => signal.removeEventListener('abort', stop)
}

/** Reports a program's output line by line, at most five times a second, and returns the last lines. */
export async function followProgram(
  process: ExecProcess,
  progress: (message: string) => void,
): Promise<readonly string[]> {
  const lastLines: string[] = []
  let shownAtMs = 0
  const take = (lines: readonly string[]): void => {
    for (const line of lines.filter((each) => each !== '')) {
      lastLines.push(line.slice(0, MAX_LINE))
      if (lastLines.length > KEPT_LINES) lastLines.shift()
    }
    const nowMs = performance.now()
    const newest = lastLines.at(-1)
    if (lines.length > 0 && newest !== undefined && nowMs - shownAtMs >= PROGRESS_EVERY_MS) {
      shownAtMs = nowMs
      progress(newest)
    }
  }
  const flush = [process.stdout, process.stderr].map((stream) => {
    let pending = ''
    stream.setEncoding('utf8').on('data', (text: string) => {
      const lines = (pending + text).split(/[\r\n]+/)
      // Only the start of an unterminated line is kept (fault F30).
      pending = (lines.pop() ?? '').slice(0, MAX_LINE)
      take(lines)
    })
    return () => take([pending])
  })
  await Promise.race([
    Promise.all([finished(process.stdout), finished(process.stderr)]),
    process.exitStatus.then(() => delay(1_000)),
  ])
  for (const end of flush) end()
  return lastLines
}
