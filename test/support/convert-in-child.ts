import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const CHILD = fileURLToPath(new URL('./convert-child.ts', import.meta.url))

/** `convert` in a process of its own, which can be killed: its lines are what is told, then the digest. */
export function convertInChild(task: object, before: readonly string[] = ['env']) {
  const [program = 'env', ...words] = before
  const argv = [...words, process.execPath, CHILD, JSON.stringify(task)]
  const child = spawn(program, argv, {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const lines: string[] = []
  const listeners: ((line: string) => void)[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    for (const each of listeners) each(line)
  })
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // It has ended.
    }
  })
  return {
    child,
    lines,
    onLine: (listener: (line: string) => void) => listeners.push(listener),
    ended: once(child, 'close'),
  }
}
