import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { outwardFrame, startFilterBefore } from '../../support/vm/net-filter.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Default capacity of a Unix socket; passt's queue fits that much. */
const MOST_BYTES = 512 * 1024
/** A busy passt: reads everything pending once, on request. */
const BUSY = `
while not os.path.exists(at('go')): time.sleep(0.01)
report(len(s.recv(1 << 25)))
while s.recv(1 << 20): pass
`

test.runIf(process.platform === 'linux')(
  'a busy passt finds no more frames than it has room for',
  async () => {
    const { guest, directory } = await startFilterBefore(BUSY)
    guest.write(Buffer.concat(Array.from({ length: 8_000 }, outwardFrame)))
    await delay(1_000)
    writeFileSync(join(directory, 'go'), '')
    await waitFor('the count', () => existsSync(join(directory, 'count')))
    const bytes = Number(readFileSync(join(directory, 'count'), 'utf8'))
    expect(bytes).toBeGreaterThan(16 * 1024)
    expect(bytes).toBeLessThan(MOST_BYTES)
  },
)
