import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ADDRESSES, createNamespaces } from '../../test/redteam/network/namespaces.ts'
import { startFilter } from '../../test/support/vm/net-filter.ts'
import { waitFor } from '../../test/support/wait-for.ts'
import type { Bench } from '../harness.ts'

const MEBIBYTES = 128
const MAC = '06:00:00:00:00:01'
const PORT = 7_001
const SEND = `import socket,sys
s=socket.create_connection((sys.argv[1],int(sys.argv[2])))
b=b'x'*(1<<20)
for _ in range(${MEBIBYTES}): s.sendall(b)
s.shutdown(socket.SHUT_WR); s.recv(1)`
const RECEIVE = `import socket,sys
l=socket.create_server(('0.0.0.0',int(sys.argv[1])),backlog=9); print('ready',flush=True)
while True:
  c,_=l.accept()
  while c.recv(1<<20): pass
  c.sendall(b'k'); c.close()`
const SERVE = `import socket,sys
l=socket.create_server(('0.0.0.0',int(sys.argv[1])),backlog=9); print('ready',flush=True)
b=b'x'*(1<<20)
while True:
  c,_=l.accept()
  for _ in range(${MEBIBYTES}): c.sendall(b)
  c.close()`
const FETCH = `import socket,sys
s=socket.create_connection((sys.argv[1],int(sys.argv[2])))
while s.recv(1<<20): pass`

const bench: Bench = {
  note: `${MEBIBYTES} MiB over one TCP connection between a guest with user-mode networking and another host, frames of 1500 bytes. The guest is a tap device whose frames go to a socket like QEMU's. Ours is workspace-net-filter in front of passt, the peer passt alone.`,

  async prepare() {
    const namespaces = createNamespaces()
    const folder = mkdtempSync(join(tmpdir(), 'user-network-'))
    const pump = join(folder, 'tap-pump')
    execFileSync('g++', ['-O2', '-std=c++20', join(import.meta.dirname, '../tap-pump.cc'), '-o', pump])
    const children: ChildProcess[] = []
    const start = async (namespace: string, argv: readonly string[]): Promise<ChildProcess> => {
      const child = spawn('ip', ['netns', 'exec', namespace, ...argv], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      children.push(child)
      await once(child.stdout, 'data')
      return child
    }
    const guests: string[] = []
    const connect = async (name: string, socket: string): Promise<void> => {
      const guest = `${namespaces.host}${name}`
      guests.push(guest)
      execFileSync('ip', ['netns', 'add', guest])
      await start(guest, [pump, socket])
      for (const flags of [
        ['link', 'set', 'tap0', 'address', MAC, 'up'],
        ['address', 'add', '10.0.2.15/24', 'dev', 'tap0'],
        ['route', 'add', 'default', 'via', '10.0.2.2'],
      ])
        execFileSync('ip', ['-n', guest, ...flags])
    }
    await start(namespaces.beyond, ['python3', '-c', RECEIVE, String(PORT)])
    await start(namespaces.beyond, ['python3', '-c', SERVE, String(PORT + 1)])

    const filtered = join(folder, 'filtered.sock')
    const rules = join(folder, 'rules')
    writeFileSync(rules, 'egress open\n')
    await startFilter({ namespace: namespaces.host, socket: filtered, rules, mac: MAC, start })
    await connect('f', filtered)
    const bare = join('/tmp', `bare-${process.pid}.sock`)
    const flags = `--foreground --quiet --socket ${bare} --runas 0 --ipv4-only --address 10.0.2.15 --netmask 24 --gateway 10.0.2.2`
    await start(namespaces.host, [
      'sh',
      '-c',
      'echo started; exec passt $* 2>/dev/null',
      'sh',
      ...flags.split(' '),
    ])
    await waitFor('passt', () => existsSync(bare), 10_000)
    await connect('b', bare)

    const run = (name: string, script: string, port: number) => (): void =>
      void execFileSync('ip', [
        'netns',
        'exec',
        `${namespaces.host}${name}`,
        'python3',
        '-c',
        script,
        ADDRESSES.internet,
        String(port),
      ])
    return {
      cases: [
        {
          name: 'out of the guest',
          ours: run('f', SEND, PORT),
          peer: run('b', SEND, PORT),
          peerName: 'passt alone',
        },
        {
          name: 'into the guest',
          ours: run('f', FETCH, PORT + 1),
          peer: run('b', FETCH, PORT + 1),
          peerName: 'passt alone',
        },
      ],
      cleanUp: () => {
        for (const child of children) child.kill('SIGKILL')
        for (const guest of guests) execFileSync('ip', ['netns', 'delete', guest])
        namespaces.remove()
        rmSync(folder, { recursive: true, force: true })
        rmSync(bare, { force: true })
        return Promise.resolve()
      },
    }
  },
}
export default bench
