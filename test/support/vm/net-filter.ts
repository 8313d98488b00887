import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { findNetFilter } from '../../../src/native/net/net-filter.ts'
import { isListening } from '../is-listening.ts'
import { tempDir } from '../temp-dir.ts'
import { waitFor } from '../wait-for.ts'

const MAC = '06:00:00:00:00:01'

/**
 * Starts the frame filter in front of a replacement for passt, until the test ends.
 *
 * @param standIn a Python program: `s` is passt's socket, `at(name)` a path in `directory`; the first request
 * is already answered
 */
export async function startFilterBefore(standIn: string): Promise<{
  readonly guest: Socket
  readonly directory: string
  readonly rules: string
}> {
  const directory = tempDir()
  const at = (name: string): string => join(directory, name)
  writeFileSync(at('passt'), `${STAND_IN}${standIn}`)
  chmodSync(at('passt'), 0o755)
  writeFileSync(at('rules'), 'egress open\n')
  const policy = [at('net.sock'), at('rules'), MAC, '10.0.2.15/24', '10.0.2.2', '10.0.2.3', '-']
  const filter = spawn(findNetFilter() ?? 'missing', [...policy, '--', at('passt'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(async () => {
    filter.kill('SIGKILL')
    // The stand-in shares the output: it writes to the directory until it has exited, too.
    await once(filter.stdout.resume(), 'close')
  })
  await waitFor('the filter', () => isListening(at('net.sock')))
  const guest = connect(at('net.sock'))
  onTestFinished(() => void guest.destroy())
  return { guest, directory, rules: at('rules') }
}

const STAND_IN = `#!/usr/bin/env python3
import os, socket, sys, time
s = socket.socket(fileno=3)
s.sendall(s.recv(46, socket.MSG_WAITALL))
at = lambda name: os.path.join(sys.argv[1], name)
def report(n):
    open(at('count.new'), 'w').write(str(n))
    os.rename(at('count.new'), at('count'))
`

/** Returns a datagram of 1,500 bytes to an address beyond the host, as QEMU sends it. */
export function outwardFrame(): Buffer {
  const bytes = Buffer.alloc(4 + 14 + 1_500)
  bytes.writeUInt32BE(bytes.length - 4, 0)
  bytes.set([6, 0, 0, 0, 0, 1, 8, 0, 0x45], 10)
  bytes.writeUInt16BE(1_500, 20)
  bytes.set([64, 17], 26)
  bytes.set([10, 0, 2, 15, 203, 0, 113, 5], 30)
  bytes.writeUInt16BE(443, 40)
  return bytes
}

/**
 * Starts the frame filter and passt in a namespace like the server does, with a gateway that reaches the
 * host.
 */
export async function startFilter(parts: {
  readonly namespace: string
  readonly socket: string
  readonly rules: string
  readonly mac: string
  readonly start: (namespace: string, argv: readonly string[]) => Promise<ChildProcess>
}): Promise<void> {
  const filter = findNetFilter()
  if (filter === undefined) throw new Error('workspace-net-filter is missing: npm run build:native')
  const argv = [
    filter,
    parts.socket,
    parts.rules,
    parts.mac,
    '10.0.2.15/24',
    '10.0.2.2',
    '10.0.2.3',
    '-',
    '--',
    '/usr/bin/passt',
    ...'--foreground --quiet --fd 3 --ipv4-only --address 10.0.2.15 --netmask 24 --gateway 10.0.2.2'.split(
      ' ',
    ),
    ...'--dns-forward 10.0.2.3 --tcp-ports none --udp-ports none'.split(' '),
    ...'--no-dhcp --no-dhcpv6 --no-ndp --no-ra'.split(' '),
  ]
  const ready = ['sh', '-c', 'echo started; exec "$@" 2>/dev/null', 'sh', ...argv]
  await parts.start(parts.namespace, ready)
  await waitFor('the filter', () => existsSync(parts.socket))
}
