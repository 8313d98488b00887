import { PassThrough } from 'node:stream'
import { fc } from '../../support/fast-check.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { linesOf } from '../../../src/supervisor/log/log-line.ts'
import type { LogSource, LogStore } from '../../../src/supervisor/log/log-store.ts'
import { createNativeLogStore } from '../../../src/supervisor/log/native-log-store.ts'
import { createPortableLogStore } from '../../../src/supervisor/log/portable-log-store.ts'
import { rounds } from '../../support/rounds.ts'
import { waitFor } from '../../support/wait-for.ts'

function open(create: () => LogStore): LogSource {
  const store = create()
  onTestFinished(() => store.close())
  return store.add({ lines: 1_000_000, bytes: 2 ** 28 })
}

const texts = (source: LogSource): readonly string[] =>
  source.read(0, Number.MAX_SAFE_INTEGER).flatMap((block) => linesOf('p', block, 0).map(({ text }) => text))

describe.each([
  ['of the addon', createNativeLogStore],
  ['in JavaScript', () => createPortableLogStore()],
])('the log store %s', (_name, create) => {
  test('progress was shown only at the end of its line', async () => {
    const source = open(create)
    const through = new PassThrough()
    source.attach(0, through)
    const take = async (bytes: string | Buffer, lines: readonly string[]): Promise<void> => {
      through.write(bytes)
      await waitFor(String(lines.at(-1)), () => source.counts().end >= lines.length)
      expect(texts(source)).toEqual(lines)
    }
    const euro = Buffer.from('€')
    // Neither half a character nor half a control sequence is shown.
    await take(Buffer.concat([Buffer.from('before \r1 '), euro.subarray(0, 2)]), ['1 '])
    await take(Buffer.concat([euro.subarray(2), Buffer.from(' \u001b[3')]), ['1 ', '1 € '])
    through.write('2m\r\u001b[K\r \r')
    // A state is shown once, also when its line ends later.
    await take('\r100%\r', ['1 ', '1 € ', '100%'])
    await take('\nnext\n', ['1 ', '1 € ', '100%', 'next'])
    await take('last\r', ['1 ', '1 € ', '100%', 'next', 'last'])
    through.end()
    await new Promise((resolve) => through.once('close', resolve))
    expect(texts(source).slice(3)).toEqual(['next', 'last'])
    // The line after the end of one needs no pause.
    const times = source.read(0, Number.MAX_SAFE_INTEGER).map(({ timeMs }) => timeMs)
    for (const [later, earlier] of [
      [1, 0],
      [2, 1],
      [4, 2],
    ] as const)
      expect((times[later] ?? 0) - (times[earlier] ?? 0)).toBeGreaterThan(990)
  })

  test('rewritten lines end with their last state for any chunks', async () => {
    const line = fc.string({
      unit: fc.constantFrom('a', 'é', '€', '😀', '\r', '\r', ' ', '\u001b[2K'),
      maxLength: 30,
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 30 }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 40 }),
        async (lines, sizes) => {
          const source = open(create)
          const through = new PassThrough()
          source.attach(0, through)
          const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(''))
          for (let at = 0, i = 0; at < bytes.length; i++)
            through.write(bytes.subarray(at, (at += sizes[i % sizes.length] ?? 1)))
          through.end()
          await new Promise((resolve) => through.once('close', resolve))
          const taken = texts(source)
          expect(taken.join('')).not.toMatch(/[\r\ufffd]/)
          // A slow machine shows further states before the last one.
          let from = 0
          for (const each of lines) {
            const last = each.replace(/\r+$/, '').split('\r').at(-1) ?? ''
            const at = taken.indexOf(last, from)
            expect(at, last).toBeGreaterThanOrEqual(from)
            from = at + 1
          }
        },
      ),
      { numRuns: rounds(200, 2_000) },
    )
  })
})
