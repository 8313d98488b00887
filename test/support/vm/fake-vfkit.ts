// Replaces vfkit on machines without macOS: accepts its arguments, provides its sockets, and boots the
// VM through QEMU. Run as a program.
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { joinStreams } from '../../../src/lib/process/join-streams.ts'
import { dialHybrid } from '../../../src/workspace/backend/microvm/guest/hybrid-dial.ts'
import { bootByQemu, end } from './stand-in.ts'

const argv = process.argv.slice(2)
const values = (option: string) => argv.flatMap((word, i) => (word === option ? [argv[i + 1] ?? ''] : []))
const part = (value: string, name: string) =>
  new RegExp(`(?:^|,)${name}=("[^"]*"|[^,]*)`).exec(value)?.[1] ?? ''
const devices = (kind: string) => values('--device').filter((value) => value.split(',')[0] === kind)

const [bootloader = ''] = values('--bootloader')
const [lower = '', upper = ''] = devices('virtio-blk').map((value) => part(value, 'path'))
const [serial = ''] = devices('virtio-serial').map((value) => part(value, 'logFilePath'))
const [rest = ''] = values('--restful-uri').map((uri) => uri.replace('unix://', ''))
const vsock = join(dirname(rest), 'vsock.sock')

process.on('SIGTERM', () => end(143))
await bootByQemu({
  cpus: values('--cpus')[0] ?? '1',
  memoryMb: values('--memory')[0] ?? '512',
  kernel: part(bootloader, 'kernel'),
  initrd: part(bootloader, 'initrd'),
  words: part(bootloader, 'cmdline').replaceAll('"', '').replace('hvc0', 'ttyS0'),
  lower,
  upper,
  cid: '3',
  vsock,
  serial: ['-serial', `file:${serial}`],
})
// The other ports are for the guest to connect to, and arrive at a socket of that name.
for (const device of devices('virtio-vsock').filter((value) => value.endsWith(',connect'))) {
  createServer({ allowHalfOpen: true }, (socket) => {
    dialHybrid(vsock, Number(part(device, 'port')), 5_000).then(
      (guest) => joinStreams(socket, guest),
      () => socket.destroy(),
    )
  }).listen(part(device, 'socketURL'))
}
createHttpServer((_request, response) => response.writeHead(202).end()).listen(rest)
