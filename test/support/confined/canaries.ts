import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Targets } from './attempts.ts'

/** A user's files and sockets that a reading process must not reach, next to a project and a cache directory that it may. */
export interface Canaries {
  readonly root: string
  readonly cacheDir: string
  /** @param cache the directory that the process can write to */
  readonly targets: (cache: string) => Targets
  readonly close: () => void
}

/** Creates files and listeners that a confined process must not reach. */
export async function createCanaries(): Promise<Canaries> {
  const folder = mkdtempSync(join(tmpdir(), 'canaries-'))
  const outside = join(folder, 'home')
  const root = join(folder, 'project')
  const cacheDir = join(folder, 'cache')
  for (const each of [outside, root, cacheDir]) mkdirSync(each)
  const secret = join(outside, 'id_ed25519')
  for (const name of ['id_ed25519', 'kept', 'removed', 'moved']) writeFileSync(join(outside, name), 'secret')
  writeFileSync(join(root, 'A.class'), 'class')
  const socket = join(outside, 'agent.sock')
  const server = createServer((each) => each.destroy()).listen(0, '127.0.0.1')
  const local = createServer((each) => each.destroy()).listen(socket)
  await Promise.all([once(server, 'listening'), once(local, 'listening')])
  process.env['CANARY_TOKEN'] = 'secret'
  const { port } = server.address() as AddressInfo
  return {
    root,
    cacheDir,
    targets: (cache) => ({ secret, outside, project: root, cache, port, socket, parent: process.pid }),
    close() {
      delete process.env['CANARY_TOKEN']
      server.close()
      local.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
