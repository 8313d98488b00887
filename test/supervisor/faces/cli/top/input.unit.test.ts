import { fc } from '../../../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { type Input, InputReader } from '../../../../../src/supervisor/faces/cli/top/input.ts'

const key = (name: string): Input => ({ is: 'key', key: name })

test.each<readonly [string, readonly Input[]]>([
  ['jk', [key('j'), key('k')]],
  ['\u001b[A\u001bOB', [key('up'), key('down')]],
  ['\u001b[5~\u001b[H\u001b[4~', [key('pageup'), key('home'), key('end')]],
  ['\r\t\u007f\u0003', [key('enter'), key('tab'), key('backspace'), key('ctrl-c')]],
  ['語👩‍👩‍👧', [key('語'), key('👩‍👩‍👧')]],
  ['\u001b[<0;4;6M\u001b[<0;4;6m', [{ is: 'click', column: 3, row: 5 }]],
  ['\u001b[<64;1;2M', [{ is: 'wheel', up: true, column: 0, row: 1 }]],
  ['\u001b[<65;1;2M', [{ is: 'wheel', up: false, column: 0, row: 1 }]],
  ['\u001b[200~rm \u001b[A\nx\u001b[201~q', [{ is: 'paste', text: 'rm \u001b[A\nx' }, key('q')]],
  // Keys with modifiers and replies of the terminal give no commands.
  ['\u001b[1;5A\u001bx\u001b[?62;22c', []],
])('%j is read as %j, in one piece and byte by byte', (text, expected) => {
  expect(new InputReader().read(Buffer.from(text))).toEqual(expected)
  const reader = new InputReader()
  const inputs = [...Buffer.from(text)].flatMap((byte) => reader.read(Buffer.of(byte)))
  // A cluster of several characters arrives as one only in one piece.
  if (!text.includes('\u200d')) expect(inputs).toEqual(expected)
})

test('Escape is a key when nothing follows it', () => {
  const reader = new InputReader()
  expect(reader.read(Buffer.from('\u001b'))).toEqual([])
  expect(reader.isUnfinished).toBe(true)
  expect(reader.finish()).toEqual([key('escape')])
  expect(reader.read(Buffer.from('q'))).toEqual([key('q')])
})

test('a paste without end does not fill the memory, and its end is found', () => {
  const reader = new InputReader()
  reader.read(Buffer.from('\u001b[200~'))
  for (let at = 0; at < 100; at++) expect(reader.read(Buffer.from('x'.repeat(1_000)))).toEqual([])
  const [paste] = [...reader.read(Buffer.from('\u001b[20')), ...reader.read(Buffer.from('1~'))]
  expect(paste).toEqual({ is: 'paste', text: 'x'.repeat(4_096) })
})

test('any bytes are read without an error', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), (pieces) => {
      const reader = new InputReader()
      for (const piece of pieces) reader.read(Buffer.from(piece))
      reader.finish()
    }),
  )
})
