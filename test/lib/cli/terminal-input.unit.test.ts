import { expect, test } from 'vitest'
import { type Input, InputReader } from '../../../src/lib/cli/terminal-input.ts'
import { fc } from '../../support/fast-check.ts'

const key = (name: string): Input => ({ is: 'key', key: name })
const keys = (...names: readonly string[]): readonly Input[] => names.map(key)

const CASES: readonly (readonly [string, readonly Input[]])[] = [
  ['jk', keys('j', 'k')],
  // Joined: key repeat, a slow connection, tmux send-keys.
  ['\u001b[B\u001b[B', keys('down', 'down')],
  ['\u001b[B\u001b[B\u001b[Br', keys('down', 'down', 'down', 'r')],
  ['/die\rx', keys('/', 'd', 'i', 'e', 'enter', 'x')],
  ['j\u001az', keys('j', 'ctrl-z', 'z')],
  // Application mode.
  ['\u001b[A\u001bOB\u001bOC\u001bOD\u001bOH\u001bOF', keys('up', 'down', 'right', 'left', 'home', 'end')],
  ['\u001bOp\u001bOx\u001bOr\u001bOj\u001bOo\u001bOM', keys('0', '8', '2', '*', '/', 'enter')],
  ['\u001bOP\u001bOQx', keys('x')],
  // Modifiers: of xterm, in application mode, of rxvt.
  ['\u001b[1;5B\u001b[1;2A\u001b[;3D\u001bO5B', keys('down', 'up', 'left', 'down')],
  ['\u001b[5;2~\u001b[1;5H\u001b[1;2F\u001b[6;5~', keys('pageup', 'home', 'end', 'pagedown')],
  ['\u001b[a\u001bOb\u001b[7$\u001b[5^\u001b[6@x', keys('up', 'down', 'home', 'pageup', 'pagedown', 'x')],
  ['\u001b[5~\u001b[H\u001b[4~\u001b[Z', keys('pageup', 'home', 'end', 'shift-tab')],
  // Keys without a name, also of the Linux console.
  ['\u001b[3~\u001b[15~\u001b[[A\u001b[[Er\u001b[E', keys('r')],
  ['\r\t\u007f\u0003', keys('enter', 'tab', 'backspace', 'ctrl-c')],
  ['\r\n\n\r\r', keys('enter', 'enter', 'enter', 'enter')],
  // Escape before another key; the terminal sends the same for a key with Alt.
  ['\u001bj', keys('escape', 'j')],
  ['\u001b\u001b[B\u001b\u001bq', keys('escape', 'down', 'escape', 'escape', 'q')],
  ['語é😀', keys('語', 'é', '😀')],
  ['e\u0301👩‍👧', keys('e', '\u0301', '👩', '\u200d', '👧')],
  ['\u001b[<0;4;6M\u001b[<0;4;6m', [{ is: 'click', column: 3, row: 5 }]],
  ['\u001b[<64;1;2M', [{ is: 'wheel', up: true, column: 0, row: 1 }]],
  ['\u001b[<65;1;2Mj', [{ is: 'wheel', up: false, column: 0, row: 1 }, key('j')]],
  // A mouse report of a terminal without SGR reports, in columns 82 and 88.
  ['\u001b[M rrq\u001b[M xxj', keys('q', 'j')],
  ['\u001b[200~rm \u001b[A\nx\u001b[201~q', [{ is: 'paste', text: 'rm \u001b[A\nx' }, key('q')]],
  ['\u001b[201~\u001b[200~\u001b[201~', [{ is: 'paste', text: '' }]],
  // Replies that a program before this one asked for.
  ['\u001b[?62;22c\u001b[24;80R\u001b[?2026;2$y\u001b[?1u', []],
  ['\u001b]11;rgb:1e1e/1e1e/1e1e\u0007x', keys('x')],
  ['\u001b]11;rgb:1e1e/1e1e/1e1e\u001b\\x', keys('x')],
  ['\u001bP>|xterm(390)\u001b\\\u001bP1+r544e\u001b\\\u001b_Gi=1;OK\u001b\\j', keys('j')],
  // One that is cut off ends at the next control character.
  ['\u001b]11;rgb\u001b[B\u001b]11;rgb\u0003', keys('down', 'ctrl-c')],
  ['\u001b]x\u001bPx', keys('escape', ']', 'x', 'escape', 'P', 'x')],
]

/** Returns the input of bytes that arrive in pieces. */
function readPieces(
  pieces: readonly Uint8Array[],
  afterEach = (_reader: InputReader): readonly Input[] => [],
) {
  const reader = new InputReader()
  return pieces.flatMap((piece) => [...reader.read(Buffer.from(piece)), ...afterEach(reader)])
}

test.each(CASES)('%j is read as %j, in one piece, in any two and byte by byte', (text, expected) => {
  const bytes = Buffer.from(text)
  expect(readPieces([bytes])).toEqual(expected)
  for (let at = 1; at < bytes.length; at++)
    expect(readPieces([bytes.subarray(0, at), bytes.subarray(at)]), `split at ${at}`).toEqual(expected)
  expect(readPieces([...bytes].map((byte) => Buffer.of(byte)))).toEqual(expected)
})

test('a script of keys gives the same input however it is split', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...CASES), { maxLength: 6 }),
      fc.array(fc.nat(200), { maxLength: 20 }),
      (cases, cuts) => {
        // An Escape key at the end of one case would begin a sequence of the next.
        const bytes = Buffer.from(cases.map(([text]) => text).join('.'))
        const points = [
          0,
          ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b),
          bytes.length,
        ]
        const pieces = points.slice(1).map((end, index) => bytes.subarray(points[index], end))
        expect(readPieces(pieces)).toEqual(readPieces([bytes]))
      },
    ),
  )
})

test('a pause at any point adds at most an Escape, and loses no key', () => {
  const script = '\u001b[B\u001bOA\u001b[1;5Bj\u001b[6~語/die\r\u001b[<0;4;6Mx'
  const bytes = Buffer.from(script)
  const whole = readPieces([bytes])
  for (let at = 1; at < bytes.length; at++) {
    const inputs = readPieces([bytes.subarray(0, at), bytes.subarray(at)], (reader) => reader.finish())
    const isEscape = (input: Input): boolean => input.is === 'key' && input.key === 'escape'
    expect(
      inputs.filter((input) => !isEscape(input)),
      `pause at ${at}`,
    ).toEqual(whole)
    expect(inputs.filter(isEscape).length).toBeLessThanOrEqual(1)
  }
})

test('Escape is a key when nothing follows it', () => {
  const reader = new InputReader()
  expect(reader.read(Buffer.from('\u001b'))).toEqual([])
  expect(reader.isUnfinished).toBe(true)
  expect(reader.finish()).toEqual([key('escape')])
  expect([reader.isUnfinished, reader.finish()]).toEqual([false, []])
  expect(reader.read(Buffer.from('q'))).toEqual([key('q')])
  reader.read(Buffer.from('\u001b'))
  reader.finish()
  expect(reader.read(Buffer.from('\u001b'))).toEqual([])
  expect(reader.finish()).toEqual([key('escape')])
})

test('a paste without end does not fill the memory, and its end is found', () => {
  const reader = new InputReader()
  reader.read(Buffer.from('\u001b[200~'))
  for (let at = 0; at < 100; at++) expect(reader.read(Buffer.from('x'.repeat(1_000)))).toEqual([])
  const [paste] = [...reader.read(Buffer.from('\u001b[20')), ...reader.read(Buffer.from('1~'))]
  expect(paste).toEqual({ is: 'paste', text: 'x'.repeat(4_096) })
})

test('a reply without end is ignored until the next control character', () => {
  const reader = new InputReader()
  reader.read(Buffer.from('\u001b]52;c;'))
  for (let at = 0; at < 100; at++) expect(reader.read(Buffer.from('x'.repeat(1_000)))).toEqual([])
  expect([...reader.read(Buffer.from('\u001b')), ...reader.read(Buffer.from('\\j'))]).toEqual([key('j')])
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
