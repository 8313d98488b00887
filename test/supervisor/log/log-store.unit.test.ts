import { closeSync, mkdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { fc } from '../../support/fast-check.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makePipe } from '../../../src/native/programs/pipe.ts'
import { linesOf } from '../../../src/supervisor/log/log-line.ts'
import type { LogSource, LogStore } from '../../../src/supervisor/log/log-store.ts'
import { createNativeLogStore } from '../../../src/supervisor/log/native-log-store.ts'
import { createPortableLogStore } from '../../../src/supervisor/log/portable-log-store.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'
import { rounds } from '../../support/rounds.ts'

const LIMIT = 16 * 1024
const AMPLE = { lines: 1_000_000, bytes: 2 ** 28 }

function open(create: () => LogStore): LogStore {
  const store = create()
  onTestFinished(() => store.close())
  return store
}

/** Feeds chunks to a stream of a source and ends it. */
async function feed(
  source: LogSource,
  chunks: readonly (string | Buffer)[],
  stream: 0 | 1 = 0,
): Promise<void> {
  const through = new PassThrough()
  source.attach(stream, through)
  for (const chunk of chunks) through.write(chunk)
  through.end()
  await new Promise((resolve) => through.once('close', resolve))
}

const texts = (source: LogSource, from = source.counts().first): readonly string[] =>
  source
    .read(from, Number.MAX_SAFE_INTEGER)
    .flatMap((block) => linesOf('p', block, from).map(({ text }) => text))

/** One suite for both stores. */
describe.each([
  ['of the addon', createNativeLogStore],
  ['in JavaScript', () => createPortableLogStore()],
])('the log store %s', (_name, create) => {
  test('store keeps lines whole for any chunks', async () => {
    const store = open(create)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', '\t', ' '), maxLength: 40 }), {
          maxLength: 30,
        }),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 40 }),
        async (lines, sizes) => {
          const source = store.add(AMPLE)
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
          const chunks: Buffer[] = []
          for (let at = 0, i = 0; at < bytes.length; i++)
            chunks.push(bytes.subarray(at, (at += sizes[i % sizes.length] ?? 1)))
          await feed(source, chunks)
          expect(texts(source)).toEqual(lines)
        },
      ),
      { numRuns: rounds(12, 60) },
    )
  })

  test('store keeps an unterminated last line when its stream ends', async () => {
    const source = open(create).add(AMPLE)
    await feed(source, ['one\ntwo'])
    expect(texts(source)).toEqual(['one', 'two'])
  })

  test.each([
    ['\r  0%\r 50%\r100%\n', ['100%']],
    ['one\rtwo\rthree\n\rfour', ['three', 'four']],
    ['a\r\nb\r\r\n\r\n\n', ['a', 'b', '', '']],
    ['1/3\u001b[2K\r 3/3\r', [' 3/3']],
    ['über\r€\r\r😀\nplain\n', ['😀', 'plain']],
    [`a\n${'x'.repeat(2 * LIMIT)}\r${'y'.repeat(LIMIT)}\nb\r\n\r`, ['a', 'y'.repeat(LIMIT), 'b']],
    ['ended\n\r\r', ['ended']],
  ])(
    'lines that carriage returns rewrite were kept with all their states: case %#',
    async (text, expected) => {
      const source = open(create).add(AMPLE)
      const path = join(tempDir(), 'web.log')
      source.writeTo({ path, maxBytes: 1_000_000, keep: 0, hasTimes: false })
      await feed(source, [text])
      expect(texts(source)).toEqual(expected)
      expect(readFileSync(path, 'utf8')).toBe(expected.map((line) => `${line}\n`).join(''))
    },
  )

  test('V8 F30 an endless line is split into marked parts of at most 16 KiB, never within a character', async () => {
    const source = open(create).add(AMPLE)
    const long = 'x'.repeat(LIMIT - 1) + '€'.repeat(20_000)
    await feed(source, [`short\n${long}\nafter\n`])
    const blocks = source.read(0, Number.MAX_SAFE_INTEGER)
    const cut = blocks.filter(({ isCut }) => isCut)
    expect(cut.length).toBeGreaterThan(3)
    for (const { bytes } of cut) expect(bytes.length).toBeLessThanOrEqual(LIMIT)
    const all = texts(source)
    expect(all[0]).toBe('short')
    expect(all.at(-1)).toBe('after')
    expect(all.slice(1, -1).join('')).toBe(long)
    expect(all.join('')).not.toContain('\ufffd')
  })

  test('store counts every line and keeps the newest within its limits', async () => {
    const source = open(create).add({ lines: 100, bytes: 2 ** 20 })
    await feed(
      source,
      Array.from({ length: 1_000 }, (_, i) => `line ${2 * i}\nline ${2 * i + 1}\n`),
    )
    expect(source.counts()).toMatchObject({ first: 1_900, end: 2_000 })
    expect(texts(source)).toEqual(Array.from({ length: 100 }, (_, i) => `line ${1_900 + i}`))
    const narrow = open(create).add({ lines: 1_000_000, bytes: 100_000 })
    await feed(
      narrow,
      Array.from({ length: 500 }, () => `${'y'.repeat(999)}\n`),
    )
    expect(narrow.counts().heldBytes).toBeLessThanOrEqual(100_000)
    expect(narrow.counts().end).toBe(500)
  })

  test('store numbers lines of all sources in order of arrival', async () => {
    const store = open(create)
    const [one, other] = [store.add(AMPLE), store.add(AMPLE)]
    for (const [source, text, stream] of [
      [one, 'a', 0],
      [other, 'b', 1],
      [one, 'c', 1],
    ] as const)
      await feed(source, [`${text}\n`], stream)
    const lines = [...one.read(0, 1e9), ...other.read(0, 1e9)].flatMap((block) => linesOf('p', block, 0))
    const inOrder = lines.toSorted((a, b) => a.sequence - b.sequence)
    expect(inOrder.map(({ text, stream }) => `${text} ${stream}`)).toEqual([
      'a stdout',
      'b stderr',
      'c stderr',
    ])
    const first = inOrder[0]?.sequence ?? 0
    expect(inOrder.map(({ sequence }) => sequence)).toEqual([first, first + 1, first + 2])
    expect(store.nextSequence()).toBe(first + 3)
  })

  test('a file records the size of a gap where it is', async () => {
    const store = open(create)
    const dir = join(tempDir(), 'later')
    const source = store.add(AMPLE)
    source.writeTo({ path: join(dir, 'a.log'), maxBytes: 2 ** 30, keep: 1, hasTimes: false })
    await feed(source, ['lost\n', 'lost too\n'])
    expect(source.counts().fileLostBytes).toBe(14)
    mkdirSync(dir)
    await feed(source, ['kept\n', 'kept too\n'])
    const gap = '[14 bytes of lines could not be written here]\n'
    expect(readFileSync(join(dir, 'a.log'), 'utf8')).toBe(`${gap}kept\nkept too\n`)
    expect(source.counts().fileLostBytes).toBe(14)
  })

  test('store rotates full files and writes every line once', async () => {
    const path = join(tempDir(), 'web.log')
    const source = open(create).add(AMPLE)
    source.writeTo({ path, maxBytes: 1_000, keep: 2, hasTimes: true })
    for (let i = 0; i < 60; i++) await feed(source, [`\u001b[31mline ${i}\u001b[0m\n`])
    const written = [`${path}.2`, `${path}.1`, path].map((file) => readFileSync(file, 'utf8'))
    for (const text of written) expect(text.length).toBeLessThanOrEqual(1_000)
    const lines = written.join('').trimEnd().split('\n')
    expect(lines.at(-1)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /)
    expect(lines.at(-1)?.slice(25)).toBe('\u001b[31mline 59\u001b[0m')
    const numbers = lines.map((line) => Number(/line (\d+)/.exec(line)?.[1]))
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, i) => 60 - numbers.length + i))
  })

  test('store counts bytes that its file could not store and continues', async () => {
    const source = open(create).add(AMPLE)
    source.writeTo({ path: join(tempDir(), 'missing', 'web.log'), maxBytes: 1_000, keep: 1, hasTimes: false })
    await feed(source, ['kept\n'])
    expect(texts(source)).toEqual(['kept'])
    expect(source.counts().fileLostBytes).toBe(5)
  })

  test('store notifies listeners of lines until they unsubscribe', async () => {
    const store = open(create)
    const source = store.add(AMPLE)
    let notified = 0
    const unsubscribe = store.onLines(() => notified++)
    await feed(source, ['one\n'])
    await waitFor('the notification', () => notified > 0)
    unsubscribe()
    const before = notified
    await feed(source, ['two\n'])
    expect(notified - before).toBeLessThanOrEqual(1)
  })
})

/** Opens a source's first stream for a further writer. */
function openPipe(source: LogSource): (text: string) => void {
  const { reader, writer } = makePipe(4_096)
  onTestFinished(() => closeSync(writer))
  source.attach(0, reader)
  return (text) => void writeSync(writer, text)
}

function openPassThrough(source: LogSource): (text: string) => void {
  const through = new PassThrough()
  source.attach(0, through)
  return (text) => void through.write(text)
}

test.each([
  ['of the addon', createNativeLogStore, openPipe],
  ['in JavaScript', () => createPortableLogStore(), openPassThrough],
])('the log store %s keeps the lines of two writers of a stream apart', async (_name, create, openWriter) => {
  const source = open(create).add(AMPLE)
  const [first, second] = [openWriter(source), openWriter(source)]
  // A whole line shows that the beginning of the next one has been read.
  first('1\none ')
  await waitFor('the first', () => source.counts().end === 1)
  second('2\nthree ')
  await waitFor('the second', () => source.counts().end === 2)
  first('two\n')
  await waitFor('its rest', () => source.counts().end === 3)
  second('four\n')
  await waitFor('all', () => source.counts().end === 4)
  expect(texts(source)).toEqual(['1', '2', 'one two', 'three four'])
})
