import { afterAll, beforeAll, expect, test } from 'vitest'
import { dockerBackend, uniqueName } from '../../../support/engine/docker.ts'
import { fc } from '../../../support/fast-check.ts'
import { rounds } from '../../../support/rounds.ts'
import { BusyBoxBackend } from '../../../support/workspace/backend/busybox-backend.ts'
import { describeOn } from '../../../support/workspace/backend/describe-on.ts'
import { answeredBytes, MORE_ODD_BYTES } from '../../../support/workspace/odd-names.ts'
import {
  call,
  makeWorkspace,
  startWorkspaceServer,
  type TestServer,
} from '../../../support/workspace/server/test-server.ts'

const KINDS = [
  { kind: 'docker', backend: () => dockerBackend() },
  { kind: 'BusyBox', backend: () => new BusyBoxBackend() },
] as const

const byte = fc.oneof(
  fc.integer({ min: 1, max: 255 }),
  fc.integer({ min: 0x80, max: 0xff }),
  fc.constantFrom(...Buffer.from('\\%\n\'"$`*-. ')),
)
const name = fc
  .array(byte, { minLength: 1, maxLength: 30 })
  .map((bytes) => Buffer.from(bytes).toString('latin1').replaceAll('/', '|'))
  .filter((each) => each !== '.' && each !== '..')
const names = fc.uniqueArray(fc.tuple(name, fc.boolean()), {
  minLength: 1,
  maxLength: 20,
  selector: ([each]) => each,
})

/** Escapes about as much as a client would, or every byte. */
function encode(path: string, escapesAll: boolean): string {
  return path.replaceAll(escapesAll ? /[^/]/g : /[^A-Za-z0-9./]/g, (char) => {
    return `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}

describeOn(KINDS, 'names of random bytes', ({ backend }) => {
  const workspace = uniqueName('bytes')
  let server: TestServer
  const url = (route: string, query: string) => `${server.url}/api/workspaces/${workspace}/${route}?${query}`
  beforeAll(async () => {
    server = await startWorkspaceServer({ backends: () => [backend()] })
    await makeWorkspace(server.url, { name: workspace })
  })
  afterAll(async () => {
    await server.api(`workspaces/${workspace}`, 'DELETE')
    await server.stop()
  })

  test('every route addresses exactly the file that is named', async () => {
    let round = 0
    await fc.assert(
      fc.asyncProperty(names, async (given) => {
        const at = `/workspace/round-${round++}`
        const query = ([each, isEncoded]: readonly [string, boolean], suffix = '') => {
          const encoded = encode(`${at}/${each}${suffix}`, isEncoded)
          return isEncoded ? `path_encoded=${encodeURIComponent(encoded)}` : `path=${encoded}`
        }
        const listed = async (): Promise<ReadonlySet<string>> => {
          const { body } = await call(url('files/list', `path=${at}`))
          const files = body.files as readonly { name: string; name_encoded?: string }[]
          return new Set(files.map((each) => answeredBytes(each.name, each.name_encoded)))
        }
        await call(url('files/directory', ''), 'POST', { path: at })
        for (const each of given) {
          const content = Buffer.from(each[0], 'latin1').toString('hex')
          const headers = { 'content-type': 'application/octet-stream' }
          const { status } = await fetch(url('files', query(each)), { method: 'PUT', body: content, headers })
          expect([each, status]).toEqual([each, 204])
        }
        expect(await listed()).toEqual(new Set(given.map(([each]) => each)))
        for (const each of given) {
          const content = await (await fetch(url('files', query(each)))).text()
          expect(content).toBe(Buffer.from(each[0], 'latin1').toString('hex'))
          const { body } = await call(url('files/stat', query(each)))
          expect(answeredBytes(body.name, body.name_encoded)).toBe(each[0])
          const from = encode(`${at}/${each[0]}`, each[1])
          const move = { from_encoded: from, to_encoded: `${from}%E9%0A` }
          expect((await call(url('files/move', ''), 'POST', move)).status).toBe(204)
          const removed = await fetch(url('files', query(each, '\xE9\n')), { method: 'DELETE' })
          expect([each, removed.status]).toEqual([each, 204])
          const directory = { path_encoded: encode(`${at}/${each[0]}/${each[0]}`, each[1]) }
          expect((await call(url('files/directory', ''), 'POST', directory)).status).toBe(204)
        }
        expect(await listed()).toEqual(new Set(given.map(([each]) => each)))
        await fetch(url('files', `path=${at}&recursive=true`), { method: 'DELETE' })
      }),
      {
        numRuns: rounds(5, 100),
        examples: [[MORE_ODD_BYTES.map((each, index) => [each, index % 2 === 0])]],
      },
    )
  })
})
