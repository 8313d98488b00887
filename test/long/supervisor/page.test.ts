import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openPage } from '../../support/browser/chromium.ts'
import { askProxy } from '../../support/supervisor/proxied.ts'
import { startSupervisor } from '../../support/supervisor/supervisor.ts'
import { waitFor } from '../../support/wait-for.ts'

/** Saves a screenshot if PAGE_SCREENSHOTS names a folder. */
function keep(name: string, image: Buffer): void {
  const folder = process.env['PAGE_SCREENSHOTS']
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.png`), image)
}

test(
  'the page shows processes, lines and requests with a token, and starts and stops',
  { timeout: 90_000 },
  async () => {
    const evil = '</script><img src=x onerror=document.title="taken">'
    const { url, running } = await startSupervisor(
      {
        web: {
          cmd: 'exec node -e "require(\'http\').createServer((q,r)=>{console.log(q.url);r.end()}).listen(process.env.PORT)"',
          proxy: { port: 4507 },
        },
        talker: {
          cmd: `i=0; while sleep 0.1; do i=$((i+1)); echo "tick $i"; printf '\\033[31m${evil}\\033[0m\\n' >&2; done`,
        },
      },
      { api: { port: 0, host: '0.0.0.0', token_file: 'token' }, proxy: { enabled: true, port: 0 } },
    )
    const page = await openPage(url.replace('0.0.0.0', '127.0.0.1'))
    const until = (what: string, expression: string): Promise<void> =>
      waitFor(what, () => page.evaluate<boolean>(expression))
    await until(
      'the question for the token',
      '!document.getElementById("login").hidden && document.getElementById("all").hidden',
    )
    await page.click('#token')
    await page.type(running.token ?? '')
    await page.press('Enter')
    await until('the processes', 'document.querySelectorAll("#processes tbody tr").length === 2')
    await until('that it runs', 'document.querySelector("[data-process=talker] .running") !== null')
    await until('lines', 'document.querySelectorAll("#lines li").length > 6')
    await until('figures', '/MiB/.test(document.querySelector("[data-process=talker]").textContent)')
    keep('running', await page.screenshot())

    // Output is always text, never markup.
    expect(await page.evaluate('document.title')).toBe('Supervisor')
    expect(await page.evaluate('document.images.length')).toBe(0)
    expect(await page.evaluate('document.getElementById("lines").textContent.includes("onerror")')).toBe(true)

    // The server filters.
    await page.click('#filter')
    await page.type('tick')
    await until(
      'filtered lines',
      '[...document.querySelectorAll("#lines li")].length > 2 && [...document.querySelectorAll("#lines li")].every((li) => li.textContent.includes("tick"))',
    )

    // A request through the proxy appears without a reload.
    await waitFor(
      'the process behind the proxy',
      async () => (await askProxy(running.proxyPort, '/shown')).status === 200,
    )
    await until('the request', 'document.getElementById("requests").textContent.includes("/shown")')

    await page.click('[data-process=talker] td:last-child button:nth-child(2)')
    await until('that it stopped', 'document.querySelector("[data-process=talker] .stopped") !== null')
    await page.click('[data-process=talker] td:last-child button:nth-child(1)')
    await until('that it runs again', 'document.querySelector("[data-process=talker] .running") !== null')
    // On a phone, nothing exceeds the width of the screen.
    await page.setWidth(390)
    expect(await page.evaluate('getComputedStyle(document.getElementById("login")).display')).toBe('none')
    keep('phone', await page.screenshot())
    expect(await page.evaluate('document.documentElement.clientWidth')).toBe(390)
    expect(
      await page.evaluate<boolean>(
        'document.documentElement.scrollWidth <= document.documentElement.clientWidth',
      ),
    ).toBe(true)
    // The buttons are visible without scrolling.
    expect(
      await page.evaluate<boolean>(
        '(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector("section"))',
      ),
    ).toBe(true)
    await page.setDark(true)
    keep('dark', await page.screenshot())
    // Only the response before the token was entered.
    expect(page.complaints.filter((complaint) => !complaint.includes('401'))).toEqual([])
  },
)
