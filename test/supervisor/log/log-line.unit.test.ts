import { expect, test } from 'vitest'
import { withoutEscapes } from '../../../src/supervisor/log/log-line.ts'

test.each([
  ['\u001b[1;32mgreen\u001b[0m', 'green'],
  ['\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\link', 'alink'],
  // `tput sgr0`, `sc`, `rc` and `smkx` of xterm.
  ['bold\u001b(B\u001b[m \u001b7x\u001b8\u001b=', 'bold x'],
  ['\u001bP+q544e\u001b\\y', 'y'],
  ['plain', 'plain'],
])('control sequences of xterm were left in lines: %j', (text, plain) =>
  expect(withoutEscapes(text)).toBe(plain),
)
