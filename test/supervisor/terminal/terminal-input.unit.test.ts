import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Random } from '../../../src/lib/random/random.ts'
import { TerminalInput } from '../../../src/supervisor/api/terminal-input.ts'

type Body = Parameters<ConstructorParameters<typeof TerminalInput>[0]>[0]

/** Input whose requests are recorded and take a turn of the event loop each. */
function recorded(answer: (body: Body) => void = () => undefined) {
  const bodies: Body[] = []
  const failures: string[] = []
  let underWay = 0
  let most = 0
  const input = new TerminalInput(
    async (body) => {
      most = Math.max(most, ++underWay)
      bodies.push(body)
      await setImmediate()
      underWay--
      answer(body)
    },
    ({ message }) => failures.push(message),
  )
  const typed = () => Buffer.concat(bodies.map((body) => Buffer.from(body.input ?? '', 'base64')))
  return { input, bodies, failures, typed, most: () => most }
}

test('any pieces of input arrive in their order, in requests of limited size, one at a time', async () => {
  const random = new Random(7)
  const { input, bodies, failures, typed, most } = recorded()
  const pieces: Buffer[] = []
  for (let i = 0; i < 300; i++) {
    const piece = Buffer.alloc(Math.floor(random.next() ** 6 * 60_000), i)
    pieces.push(piece)
    input.add(piece)
    if (random.chance(0.5)) await setImmediate()
  }
  await input.drained()
  expect(typed().equals(Buffer.concat(pieces))).toBe(true)
  expect(Math.max(...bodies.map((body) => Buffer.from(body.input ?? '', 'base64').length))).toBe(16_384)
  expect([most(), failures]).toEqual([1, []])
})

test('of sizes that wait, only the last is sent, with the input that waits', async () => {
  const { input, bodies } = recorded()
  input.resize({ columns: 1, rows: 1 })
  input.resize({ columns: 2, rows: 2 })
  input.add(Buffer.from('a'))
  input.resize({ columns: 3, rows: 3 })
  await input.drained()
  expect(bodies).toEqual([
    { size: { columns: 1, rows: 1 } },
    { size: { columns: 3, rows: 3 }, input: 'YQ==' },
  ])
})

test('input during a restart is dropped, and another error is reported once', async () => {
  let code = 'PROCESS_NOT_RUNNING'
  const { input, bodies, failures } = recorded(() => {
    throw Object.assign(new Error('refused'), { code })
  })
  input.add(Buffer.from('a'))
  await input.drained()
  expect(failures).toEqual([])
  code = 'PROCESS_NOT_FOUND'
  input.add(Buffer.alloc(40_000))
  await input.drained()
  expect([failures, bodies.length]).toEqual([['refused'], 2])
})

test('input that the process does not read is refused at a limit', () => {
  const { input, failures } = recorded()
  input.add(Buffer.alloc(1_048_576))
  input.add(Buffer.alloc(65_536))
  expect(failures).toEqual(['the process reads its input too slowly'])
})
