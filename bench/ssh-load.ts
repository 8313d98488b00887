import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import ssh2, { type Client, type ClientChannel, type ConnectConfig } from 'ssh2'

const ECHOES = 1_000

/**
 * Measures how long one byte takes to `cat` in the workspace and back, alone and during a transfer: "p50 / p95 ms".
 */
export async function echoBesideDownload(
  login: ConnectConfig,
  download: string,
): Promise<{ readonly idle: string; readonly busy: string }> {
  const client = await connected(login)
  const channel = await new Promise<ClientChannel>((resolve, reject) =>
    client.exec('cat', (error, opened) => (error ? reject(error) : resolve(opened))),
  )
  const idle = await echoes(channel)
  const other = spawn('sh', ['-c', `exec ${download}`], { stdio: 'ignore' })
  await delay(1_000)
  const busy = await echoes(channel)
  other.kill('SIGTERM')
  await once(other, 'exit')
  client.end()
  return { idle, busy }
}

/** Opens idle connections, and returns by how much `measure` grew for each. */
export async function idleConnections(
  login: ConnectConfig,
  count: number,
  measure: () => number,
): Promise<number> {
  const before = measure()
  const clients: Client[] = []
  for (let i = 0; i < count; i += 50) {
    clients.push(...(await Promise.all(Array.from({ length: 50 }, () => connected(login)))))
  }
  await delay(1_000)
  const grown = measure() - before
  for (const client of clients) client.destroy()
  return grown / count
}

async function connected(login: ConnectConfig): Promise<Client> {
  const client = new ssh2.Client()
  client.connect({ host: '127.0.0.1', ...login })
  await once(client, 'ready')
  client.setNoDelay(true)
  client.on('error', () => undefined)
  return client
}

async function echoes(channel: ClientChannel): Promise<string> {
  const times: number[] = []
  for (let i = 0; i < ECHOES; i++) {
    const startMs = performance.now()
    channel.write('x')
    await once(channel, 'data')
    times.push(performance.now() - startMs)
  }
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(share * ECHOES)] ?? Number.NaN).toFixed(2)
  return `${at(0.5)} / ${at(0.95)} ms`
}
