import { packError } from '../../lib/pool/portable-error.ts'
import { ClassBytes } from './class-bytes.ts'
import type { DecompileOrder, DecompileReport, DecompileSettings } from './decompile-protocol.ts'
import { decompileClass } from './decompile-class.ts'

// The decompiler's process: it may take any time and any memory over a class file made for that, and is then killed.

const { release } = JSON.parse(process.argv[2] ?? '{}') as DecompileSettings
const classes = new ClassBytes(release)
const asked = new Map<number, (location: string | undefined) => void>()
const ending = new AbortController()
let lastAsk = 0

process.on('message', (order: DecompileOrder) => {
  if (order.do === 'located') asked.get(order.ask)?.(order.location)
  else void decompile(order)
})
// The front process is gone or lets go. A plain exit would wait for the decompiler on some versions of Node.
process.on('disconnect', () => {
  ending.abort()
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), 100)
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

async function decompile({ id, task }: Extract<DecompileOrder, { do: 'decompile' }>): Promise<void> {
  try {
    report({ is: 'done', id, result: await decompileClass(task, classes, locate, ending.signal) })
  } catch (error) {
    report({ is: 'failed', id, error: packError(error) })
  }
}

function locate(name: string): Promise<string | undefined> {
  const ask = ++lastAsk
  return new Promise((resolve) => {
    asked.set(ask, (location) => {
      asked.delete(ask)
      resolve(location)
    })
    report({ is: 'asking', ask, name })
  })
}

function report(message: DecompileReport): void {
  process.send?.(message)
}
