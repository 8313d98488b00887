import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'

const CHILD = fileURLToPath(new URL('./convert-child.ts', import.meta.url))

/**
 * Runs `convert` in a separate process that can be killed: it prints the progress messages, then the digest.
 */
export function convertInChild(
  task: object,
  before: readonly string[] = ['env'],
  checkout: string = packageRoot,
) {
  const [program = 'env', ...words] = before
  const inside = relative(packageRoot, process.execPath)
  const node = inside.startsWith('..') ? process.execPath : join(checkout, inside)
  const child = join(checkout, relative(packageRoot, CHILD))
  const argv = [...words, node, child, JSON.stringify(task)]
  const running = spawn(program, argv, {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const lines: string[] = []
  const listeners: ((line: string) => void)[] = []
  createInterface({ input: running.stdout }).on('line', (line) => {
    lines.push(line)
    for (const each of listeners) each(line)
  })
  onTestFinished(() => {
    try {
      process.kill(-(running.pid ?? 0), 'SIGKILL')
    } catch {
      // It has exited.
    }
  })
  return {
    child: running,
    lines,
    onLine: (listener: (line: string) => void) => listeners.push(listener),
    ended: once(running, 'close'),
  }
}
