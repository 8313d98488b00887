import { packError } from '../../../lib/pool/portable-error.ts'
import { ClassBytes } from '../../scan/class-bytes.ts'
import type { DecompileCommand, DecompileReport, DecompileSettings } from './decompile-protocol.ts'
import { decompileClass, type DecompileServices } from './decompile-class.ts'

// Confined process of the decompiler. A crafted class file can make it take any time and much memory; then it
// is killed.

const { release } = JSON.parse(process.argv[2] ?? '{}') as DecompileSettings
const classes = new ClassBytes(release)
const pending = new Map<number, (text: string | undefined) => void>()
let lastRequest = 0

const services: DecompileServices = {
  locate: (name) => request((number) => ({ is: 'asking', request: number, name })),
  runJvm: () => request((number) => ({ is: 'prepared', request: number })),
}

process.on('message', (command: DecompileCommand) => {
  if (command.do === 'located') resolvePending(command.request, command.location)
  else if (command.do === 'ran') resolvePending(command.request, command.problem)
  else void decompile(command)
})
// The parent exited or disconnected. A plain exit would wait for the decompiler on some versions of Node.js.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

async function decompile({ id, task }: Extract<DecompileCommand, { do: 'decompile' }>): Promise<void> {
  try {
    report({ is: 'done', id, result: await decompileClass(task, classes, services) })
  } catch (error) {
    report({ is: 'failed', id, error: packError(error) })
  }
}

/** Sends a request to the parent. */
function request(question: (number: number) => DecompileReport): Promise<string | undefined> {
  const number = ++lastRequest
  return new Promise((resolve) => {
    pending.set(number, resolve)
    report(question(number))
  })
}

function resolvePending(number: number, text: string | undefined): void {
  pending.get(number)?.(text)
  pending.delete(number)
}

function report(message: DecompileReport): void {
  process.send?.(message)
}
