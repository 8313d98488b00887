import { execFileSync } from 'node:child_process'
import { buffer } from 'node:stream/consumers'
import { machineRoots, qemuBackend } from '../../test/support/vm/vm-server.ts'
import { createIn, outputOf } from '../../test/support/workspace/backend/backends.ts'
import { makeVmImages, VM_IMAGE } from '../../test/support/vm/vm-image.ts'
import type { Bench } from '../harness.ts'

const IMAGE = 'workspace-base:1'
const MEGABYTES = 32

const bench: Bench = {
  note:
    'The machine is QEMU’s, emulated (no KVM): its kernel, Node and programs run some ten times slower than in a ' +
    'container, which dominates each figure. `true` is run in a machine by its agent over vsock, and by `docker exec`; ' +
    `${MEGABYTES} MB of zeros are read from a program, and from \`docker exec … head\`.`,

  async prepare() {
    await makeVmImages()
    const roots = machineRoots()
    const backend = await qemuBackend(roots)
    await backend.open(() => undefined)
    await createIn(backend, 'bench')
    const container = execFileSync('docker', ['run', '-d', IMAGE, 'sleep', 'infinity'], {
      encoding: 'utf8',
    }).trim()
    const docker = (...argv: readonly string[]) =>
      execFileSync('docker', ['exec', container, ...argv], {
        maxBuffer: 2 ** 30,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
    const zeros = ['head', '-c', String(MEGABYTES * 1_000_000), '/dev/zero'] as const
    return {
      cases: [
        {
          name: 'exec true',
          ours: () => outputOf(backend, 'bench', { argv: ['true'], stdin: false }),
          peer: () => docker('true'),
          peerName: 'docker exec',
        },
        {
          name: `exec, ${MEGABYTES} MB out`,
          megabytes: MEGABYTES,
          ours: async () => {
            const process = await backend.exec('bench', { argv: zeros, stdin: false })
            await Promise.all([buffer(process.stdout), buffer(process.stderr)])
          },
          peer: () => docker(...zeros),
          peerName: 'docker exec',
        },
      ],
      async more() {
        const lines = [
          ...(await phases(backend, IMAGE, 'the container image')),
          ...(await phases(backend, VM_IMAGE, 'systemd')),
        ]
        return `${lines.join('\n')}\n${await measureDial(backend)}`
      },
      async cleanUp() {
        await backend.remove('bench', false)
        await backend.close()
        roots.remove()
        execFileSync('docker', ['rm', '-f', container], { stdio: 'ignore' })
      },
    }
  },
}
export default bench

type Machines = Awaited<ReturnType<typeof qemuBackend>>

/** Returns the phases from the start of a creation to a program's first response. */
async function phases(backend: Machines, image: string, what: string): Promise<readonly string[]> {
  const marks: [string, number][] = []
  const mark = (name: string) => marks.push([name, performance.now()])
  const before = performance.now()
  await backend.create(
    {
      name: 'phases',
      createdAt: new Date(),
      image,
      repo: '',
      localDir: '',
      forwardPorts: [],
      adoptsFiles: false,
      environment: {},
      cpus: 1,
      memoryMb: 512,
      upperBytes: 0,
      fromSnapshot: '',
    },
    (message) => mark(message),
    new AbortController().signal,
  )
  mark('agent responded')
  await outputOf(backend, 'phases', { argv: ['true'], stdin: false })
  mark('first program')
  await backend.stop('phases')
  mark('stopped')
  await backend.start('phases')
  mark('started again')
  await backend.remove('phases', false)
  let last = before
  const parts = marks.map(([name, at]) => {
    const part = `${name} +${((at - last) / 1000).toFixed(2)} s`
    last = at
    return part
  })
  return [`${what}: ${parts.join(', ')}`]
}

/** Returns the throughput of a connection to a port inside, both ways. */
async function measureDial(backend: Machines): Promise<string> {
  const bytes = MEGABYTES * 1_000_000
  const script = `my $s = IO::Socket::INET->new(LocalPort => 7001, Listen => 5, LocalAddr => '127.0.0.1') or die; $| = 1; print "ready\\n";
    my $p = $s->accept; print $p ("x" x ${bytes}); close $p;
    $p = $s->accept; my ($n, $b) = (0); while (my $c = sysread($p, $b, 65536)) { $n += $c } print "$n\\n"`
  const serving = await backend.exec('bench', {
    argv: ['perl', '-MIO::Socket::INET', '-e', script],
    stdin: false,
  })
  await new Promise((resolve) => serving.stdout.once('data', resolve))
  let before = performance.now()
  await buffer(await backend.dial('bench', 7001))
  const out = performance.now() - before
  before = performance.now()
  const counted = new Promise((resolve) => serving.stdout.once('data', resolve))
  const connection = await backend.dial('bench', 7001)
  connection.resume()
  connection.end(Buffer.alloc(bytes))
  await counted
  const into = performance.now() - before
  const rate = (ms: number) => `${((MEGABYTES * 1000) / ms).toFixed(0)} MB/s`
  return `dial, ${MEGABYTES} MB: ${rate(out)} out, ${rate(into)} in`
}
