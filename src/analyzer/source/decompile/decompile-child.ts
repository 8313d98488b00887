import { packError } from '../../../lib/pool/portable-error.ts'
import { ClassBytes } from './class-bytes.ts'
import type { DecompileOrder, DecompileReport, DecompileSettings } from './decompile-protocol.ts'
import { decompileClass, type DecompileHelp } from './decompile-class.ts'

// The decompiler's process, confined: it may take any time and much memory over a class file made for that, and is then killed.

const { release } = JSON.parse(process.argv[2] ?? '{}') as DecompileSettings
const classes = new ClassBytes(release)
const asked = new Map<number, (answer: string | undefined) => void>()
let lastAsk = 0

const help: DecompileHelp = {
  locate: (name) => ask((number) => ({ is: 'asking', ask: number, name })),
  runJvm: () => ask((number) => ({ is: 'prepared', ask: number })),
}

process.on('message', (order: DecompileOrder) => {
  if (order.do === 'located') answer(order.ask, order.location)
  else if (order.do === 'ran') answer(order.ask, order.problem)
  else void decompile(order)
})
// The front process is gone or lets go. A plain exit would wait for the decompiler on some versions of Node.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

async function decompile({ id, task }: Extract<DecompileOrder, { do: 'decompile' }>): Promise<void> {
  try {
    report({ is: 'done', id, result: await decompileClass(task, classes, help) })
  } catch (error) {
    report({ is: 'failed', id, error: packError(error) })
  }
}

/** Asks the front process something. */
function ask(question: (number: number) => DecompileReport): Promise<string | undefined> {
  const number = ++lastAsk
  return new Promise((resolve) => {
    asked.set(number, resolve)
    report(question(number))
  })
}

function answer(number: number, text: string | undefined): void {
  asked.get(number)?.(text)
  asked.delete(number)
}

function report(message: DecompileReport): void {
  process.send?.(message)
}
