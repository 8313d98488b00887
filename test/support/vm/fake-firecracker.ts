// Replaces Firecracker on machines without KVM: accepts its arguments and requests, validates each
// against the published API description, and boots the VM through QEMU, so that the whole path behind the API
// is real. Run as a program.
import { openSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { apiFaults } from './firecracker-api.ts'
import { bootByQemu, end, hasBooted } from './stand-in.ts'

const argv = process.argv.slice(2)
/** The root of the file system as it sees it; the jail's when it is started in one. */
const root = process.env['FAKE_JAIL'] ?? ''
const requests = new Map<string, Readonly<Record<string, unknown>>>()
const fieldOf = (path: string, field: string): string => String(requests.get(path)?.[field])
const file = (path: string, field: string): string => root + fieldOf(path, field)

process.on('SIGTERM', () => end(143))
createServer((request, response) => void answer(request, response)).listen(
  `${root}${argv[argv.indexOf('--api-sock') + 1]}`,
)

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = JSON.parse((await buffer(request)).toString()) as Readonly<Record<string, unknown>>
  const { method = '', url = '' } = request
  const faults = apiFaults(method, url, body)
  if (hasBooted() && url !== '/actions') faults.push('the machine runs already')
  if (faults.length > 0) {
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ fault_message: faults.join('; ') }))
    return
  }
  requests.set(url, body)
  // Like Firecracker, which opens it immediately and keeps it open.
  if (url.startsWith('/drives/'))
    openSync(file(url, 'path_on_host'), body['is_read_only'] === true ? 'r' : 'r+')
  if (body['action_type'] === 'InstanceStart') await start()
  response.writeHead(204).end()
}

function start(): Promise<void> {
  return bootByQemu({
    cpus: fieldOf('/machine-config', 'vcpu_count'),
    memoryMb: fieldOf('/machine-config', 'mem_size_mib'),
    kernel: file('/boot-source', 'kernel_image_path'),
    initrd: file('/boot-source', 'initrd_path'),
    // Firecracker's devices are not on PCI, but their replacements are.
    words: fieldOf('/boot-source', 'boot_args').replace('pci=off', ''),
    lower: file('/drives/lower', 'path_on_host'),
    upper: file('/drives/upper', 'path_on_host'),
    cid: fieldOf('/vsock', 'guest_cid'),
    vsock: file('/vsock', 'uds_path'),
    serial: ['-serial', 'stdio'],
  })
}
