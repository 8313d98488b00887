import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { backendCreate } from '../../../support/workspace/backend/backend-create.ts'
import {
  docker,
  dockerBackend,
  removeLeftovers,
  TEST_IMAGE,
  uniqueName,
} from '../../../support/engine/docker.ts'
import { engineProxy } from '../../../support/engine/engine-proxy.ts'
import { waitFor } from '../../../support/wait-for.ts'

const PORT = 4000

/** Sends a word to every client. */
const serving = (word: string) =>
  `use IO::Socket::INET; $s = IO::Socket::INET->new(Listen => 9, ReuseAddr => 1, LocalAddr => "127.0.0.1", LocalPort => ${PORT}) or die; while ($c = $s->accept) { print $c "${word}"; close $c }`

test.runIf(process.getuid?.() === 0)(
  'a port is dialed without asking the engine again, even after its container was restarted or replaced',
  async () => {
    const proxy = await engineProxy()
    const backend = dockerBackend({ host: proxy.address, network: 'none' })
    await backend.open(() => undefined)
    onTestFinished(() => backend.close())
    const name = uniqueName('again')
    onTestFinished(() => removeLeftovers(name))
    const create = () =>
      backend.create(backendCreate(name, TEST_IMAGE), () => undefined, new AbortController().signal)
    const read = async () => {
      const stream = await backend.dial(name, PORT)
      const answer = await text(stream)
      stream.destroy()
      return answer
    }
    const serve = async (word: string) => {
      await docker('exec', '--detach', `ws-${name}`, 'perl', '-e', serving(word))
      await waitFor(word, () =>
        read().then(
          (answer) => answer === word,
          () => false,
        ),
      )
    }

    await create()
    await serve('first')
    const requests: string[] = []
    proxy.onRequest = (request) => {
      // The backend also looks whether the engine answers.
      if (!request.endsWith(' /_ping')) requests.push(request)
      return 'pass'
    }
    for (let dial = 0; dial < 5; dial++) expect(await read()).toBe('first')
    expect(requests).toEqual([])

    await backend.stop(name)
    await expect(backend.dial(name, PORT)).rejects.toMatchObject({ code: expect.any(String) as string })
    await backend.start(name)
    await serve('restarted')

    await backend.remove(name, false)
    await create()
    await serve('replaced')

    // Behind the server's back, before the event arrives.
    await docker('restart', '--time', '0', `ws-${name}`)
    await serve('restarted again')
  },
)
