import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import ssh2 from '../../../../src/lib/ssh/ssh2.ts'
import { expect, test } from 'vitest'
import { serve } from '../../../support/served.ts'
import { tempDir } from '../../../support/temp-dir.ts'

const WARM_UP = 200
const LOGINS = 1_200
/** Without explicit garbage collection each login leaves about 17 KiB. */
const MOST_BYTES_EACH = 8 * 1024

test('SSH worker processes do not grow with every login', async () => {
  const stateDir = join(tempDir(), 'state')
  const server = await serve({ stateDir, settings: { ssh: { processes: 1 } } })
  const { private: privateKey } = ssh2.utils.generateKeyPairSync('ed25519')
  const login = () =>
    new Promise<void>((resolve, reject) => {
      const client = new ssh2.Client()
      client.once('ready', () => client.end()).once('close', () => resolve())
      client.once('error', reject)
      client.connect({ host: '127.0.0.1', port: server.sshPort, username: 'nobody', privateKey })
    })
  const logins = async (count: number) => {
    for (let i = 0; i < count; i += 4) await Promise.all([login(), login(), login(), login()])
  }
  const heldBytes = () => {
    const { pid } = server.child
    const [child = ''] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    return 1024 * Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${child}/status`, 'utf8'))?.[1])
  }
  await logins(WARM_UP)
  const before = heldBytes()
  await logins(LOGINS)
  expect(heldBytes() - before).toBeLessThan(LOGINS * MOST_BYTES_EACH)
  expect(await server.end('SIGTERM')).toBe(0)
})
