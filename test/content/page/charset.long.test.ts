import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openPage } from '../../support/browser/chromium.ts'
import { CHARSET_TEXTS } from '../../support/content/charset-texts.ts'

test('a browser decodes pages without a character set in the header as the server does', async () => {
  const pages = CHARSET_TEXTS.filter(
    ([text, type, charset]) => type === 'text/html' && text !== '' && charset,
  )
  const server = createServer(({ url = '' }, response) => {
    const [text] = pages[Number(url.slice(1))] ?? ['<p>none']
    response.setHeader('content-type', 'text/html')
    response.end(Buffer.from(text, 'latin1'))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const page = await openPage(`http://127.0.0.1:${(server.address() as AddressInfo).port}/none`)
  const different: unknown[] = []
  for (const [number, [text, , charset]] of pages.entries()) {
    const shown = await page.evaluate(`(async () => {
      const frame = document.createElement('iframe')
      const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
      frame.src = '/${number}'
      document.body.append(frame)
      await loaded
      return frame.contentDocument.characterSet.toLowerCase()
    })()`)
    // Browsers do not recognize UTF-8 that is not declared.
    const isRecognized = charset === 'utf-8' && !/charset|^\xef/.test(text)
    if (shown !== charset && !isRecognized) different.push([text, charset, shown])
  }
  // The standard ignores a second attribute of the same name.
  expect(different).toEqual([['<meta charset=big5 charset=gbk>', 'big5', 'gbk']])
})
