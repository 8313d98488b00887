import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openPage } from './chromium.ts'

const PAGE = `<!doctype html><link rel="icon" href="data:,"><button style="position: absolute">Go</button><script>
  const button = document.querySelector('button')
  let step = 0
  let presses = 0
  // It does not move before every third press: otherwise a slow machine could miss it each time.
  setInterval(() => presses % 3 < 2 && (button.style.top = (++step % 4) * 100 + 'px'), 2)
  document.addEventListener('mouseup', () => presses++, true)
  button.onclick = () => (document.title = Number(document.title) + 1)
</script>`

test('a click meets a button that moves, once', async () => {
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end(PAGE),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const page = await openPage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  for (let clicks = 1; clicks <= 10; clicks++) {
    await page.click('button')
    expect(await page.evaluate('document.title')).toBe(String(clicks))
  }
})
