import type { Bench } from './harness.ts'
import { timeMs } from './time.ts'

// Argument: a bench. Prepares it, and times one of its cases for each number that arrives. `compare.ts` copies this file and
// `time.ts` into the checkout of the other commit.
const [name = ''] = process.argv.slice(2)
const { default: bench } = (await import(`./${name}.ts`)) as { readonly default: Bench }
const prepared = await bench.prepare()
process.send?.(prepared.cases.map((one) => one.name))
process.on('message', (index: number) => void run(index))
process.once('disconnect', () => void end())

async function run(index: number): Promise<void> {
  const one = prepared.cases[index]
  await one?.beforeEach?.()
  process.send?.(one === undefined ? null : await timeMs(one.ours))
}

async function end(): Promise<void> {
  await prepared.cleanUp()
  process.exit()
}
