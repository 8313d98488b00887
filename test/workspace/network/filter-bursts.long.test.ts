import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { outwardFrame, startFilterBefore } from '../../support/vm/net-filter.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Default capacity of a Unix socket; passt's queue fits that much. */
const MOST_BYTES = 512 * 1024
/** Least content of the queue before passt reads. */
const LEAST_BYTES = 16 * 1024
/** A busy passt: reads everything pending once, when no more arrives. */
const BUSY = `
import array, fcntl, termios
def pending():
    count = array.array('i', [0])
    fcntl.ioctl(s, termios.FIONREAD, count)
    return count[0]
before = -1
while (now := pending()) <= ${LEAST_BYTES} or now != before:
    before = now
    time.sleep(0.2)
report(len(s.recv(1 << 25)))
while s.recv(1 << 20): pass
`

test.runIf(process.platform === 'linux')(
  'a busy passt finds no more frames than it has room for',
  async () => {
    const { guest, directory } = await startFilterBefore(BUSY)
    guest.write(Buffer.concat(Array.from({ length: 8_000 }, outwardFrame)))
    await waitFor('the count', () => existsSync(join(directory, 'count')))
    const bytes = Number(readFileSync(join(directory, 'count'), 'utf8'))
    expect(bytes).toBeGreaterThan(LEAST_BYTES)
    expect(bytes).toBeLessThan(MOST_BYTES)
  },
)
