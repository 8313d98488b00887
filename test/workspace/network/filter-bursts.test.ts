import { spawn } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { findNetFilter } from '../../../src/native/net-filter.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const MAC = '06:00:00:00:00:01'
/** What a Unix socket holds by default; passt's queue has room for that. */
const MOST_BYTES = 512 * 1024
/** Stands in for a passt that is busy: answers the first question, then reads once, when told to, all that waits. */
const BUSY_PASST = `#!/usr/bin/env python3
import os, socket, sys, time
s = socket.socket(fileno=3)
s.sendall(s.recv(46, socket.MSG_WAITALL))
while not os.path.exists(sys.argv[1] + '/go'): time.sleep(0.01)
n = len(s.recv(1 << 25))
open(sys.argv[1] + '/count.new', 'w').write(str(n))
os.rename(sys.argv[1] + '/count.new', sys.argv[1] + '/count')
time.sleep(60)
`

/** A datagram of 1,500 bytes to an address beyond the host, as QEMU sends it. */
function frame(): Buffer {
  const bytes = Buffer.alloc(4 + 14 + 1_500)
  bytes.writeUInt32BE(bytes.length - 4, 0)
  bytes.set([6, 0, 0, 0, 0, 1, 8, 0, 0x45], 10)
  bytes.writeUInt16BE(1_500, 20)
  bytes.set([64, 17], 26)
  bytes.set([10, 0, 2, 15, 203, 0, 113, 5], 30)
  bytes.writeUInt16BE(443, 40)
  return bytes
}

test.runIf(process.platform === 'linux')(
  'a busy passt finds no more frames than it has room for',
  async () => {
    const directory = tempDir()
    const [passt, rules, socket] = ['passt', 'rules', 'net.sock'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ]
    writeFileSync(passt, BUSY_PASST)
    chmodSync(passt, 0o755)
    writeFileSync(rules, 'egress open\n')
    const argv = [socket, rules, MAC, '10.0.2.15/24', '10.0.2.2', '10.0.2.3', '-', '--', passt, directory]
    const filter = spawn(findNetFilter() ?? 'missing', argv, { stdio: 'inherit' })
    onTestFinished(() => void filter.kill('SIGKILL'))
    await waitFor('the filter', () => existsSync(socket), 20_000)
    const guest = connect(socket)
    onTestFinished(() => void guest.destroy())
    guest.write(Buffer.concat(Array.from({ length: 8_000 }, frame)))
    await delay(1_000)
    writeFileSync(join(directory, 'go'), '')
    await waitFor('the count', () => existsSync(join(directory, 'count')), 20_000)
    const bytes = Number(readFileSync(join(directory, 'count'), 'utf8'))
    expect(bytes).toBeGreaterThan(16 * 1024)
    expect(bytes).toBeLessThan(MOST_BYTES)
  },
)
