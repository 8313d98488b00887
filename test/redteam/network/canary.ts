import { spawn } from 'node:child_process'
import { createSocket, type SocketType } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'

/** A hit on a canary: its sender, and the ID it carried; '' if none. */
export interface Hit {
  readonly canary: string
  readonly from: string
  readonly id: string
}

/** Listens on TCP and UDP and reports everything that arrives. It needs no secret: being reached at all is the finding. */
export async function startCanary(
  canary: string,
  address: string,
  port: number,
  onHit: (hit: Hit) => void,
): Promise<() => void> {
  const server = createServer((connection) => {
    const from = connection.remoteAddress ?? ''
    connection.on('error', () => undefined)
    let said = ''
    connection.setEncoding('utf8')
    connection.on('data', (text: string) => {
      said = `${said}${text}`.slice(0, 200)
      connection.write('canary\n')
    })
    connection.on('close', () => onHit({ canary, from, id: said.split('\n')[0] ?? '' }))
    connection.setTimeout(5_000, () => connection.destroy())
    connection.write('canary\n')
  })
  server.listen({ port, host: address, ipv6Only: false })
  await once(server, 'listening')
  const type: SocketType = address.includes(':') ? 'udp6' : 'udp4'
  const datagrams = createSocket({ type })
  datagrams.on('message', (message, { address: from, port: back }) => {
    onHit({ canary, from, id: message.toString() })
    datagrams.send('canary', back, from)
  })
  datagrams.bind(port, address)
  await once(datagrams, 'listening')
  return () => {
    server.close()
    datagrams.close()
  }
}

/** Starts a canary on every address of another network namespace. */
export async function startCanaryIn(
  namespace: string,
  canary: string,
  port: number,
  onHit: (hit: Hit) => void,
): Promise<() => void> {
  const child = spawn(
    'ip',
    ['netns', 'exec', namespace, process.execPath, import.meta.filename, canary, '::', String(port)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const lines = createInterface({ input: child.stdout })
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`the canary ${canary} does not start`)))
    lines.on('line', (line) => {
      if (line === 'ready') resolve()
      else onHit(JSON.parse(line) as Hit)
    })
  })
  return () => child.kill()
}

// As a program, canary.ts NAME ADDRESS PORT prints a line of JSON for each hit.
if (process.argv[1] === import.meta.filename) {
  const [name = '', address = '', port = ''] = process.argv.slice(2)
  await startCanary(name, address, Number(port), (hit) => console.log(JSON.stringify(hit)))
  console.log('ready')
}
