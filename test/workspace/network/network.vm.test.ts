import { execFileSync } from 'node:child_process'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { createIn, outputOf, sh } from '../../support/workspace/backend/backends.ts'
import { machineRoots, qemuBackend } from '../../support/vm/vm-server.ts'

const roots = machineRoots()
afterAll(() => roots.remove())

test('a machine on a tap device is reachable at its address and reaches the host', async () => {
  const backend = await qemuBackend(roots, { network: 'tap' })
  await backend.open(() => undefined)
  try {
    const { ipAddress, containerId } = await createIn(backend, 'net')
    expect(ipAddress).toMatch(/^10\.213\.\d+\.\d+$/)
    expect(execFileSync('ip', ['link', 'show', `wst${containerId}`], { encoding: 'utf8' })).toMatch(
      / master wsvm[0-9a-f]{6} /,
    )
    const serving = await backend.exec('net', {
      argv: [
        'perl',
        '-MIO::Socket::INET',
        '-e',
        `$| = 1; my $server = IO::Socket::INET->new(LocalPort => 7000, Listen => 1) or die $!;
         print "ready\\n"; my $peer = $server->accept; print $peer "from inside";`,
      ],
      stdin: false,
    })
    await new Promise((resolve) => serving.stdout.once('data', resolve))
    expect(await text(connect({ host: ipAddress, port: 7000 }))).toBe('from inside')
    const route = await outputOf(backend, 'net', sh('cat /proc/net/route'))
    expect(route.stdout).toMatch(/00000000\t01[0-9A-F]0D50A/)
    await backend.stop('net')
    expect(() => execFileSync('ip', ['link', 'show', `wst${containerId}`], { stdio: 'ignore' })).toThrow(
      /Command failed/,
    )
  } finally {
    await backend.remove('net', false)
    await backend.close()
  }
})

test('a machine without a network works', async () => {
  const backend = await qemuBackend(roots, { network: 'none' })
  await backend.open(() => undefined)
  try {
    expect(await createIn(backend, 'alone')).toMatchObject({ ipAddress: '' })
    expect(await outputOf(backend, 'alone', sh('ls /sys/class/net'))).toMatchObject({ stdout: 'lo\n' })
  } finally {
    await backend.remove('alone', false)
    await backend.close()
  }
})
