import { expect, test } from 'vitest'
import { openPage } from '../../../../support/browser/chromium.ts'
import { startContent } from '../../../../support/content/content-server.ts'
import { waitFor } from '../../../../support/wait-for.ts'

const CSP = `<meta http-equiv="content-security-policy" content="default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'none'">`
const page = (name: string) => `<!doctype html><html lang="en"><title>x</title>${CSP}<h1>${name}</h1>`
const FILES = {
  'repos/guide/_meta.json': JSON.stringify({
    versions: ['1.0', '2.0'],
    latest: '2.0',
    aliases: { stable: '1.0' },
  }),
  'repos/guide/1.0/index.html': page('start 1'),
  'repos/guide/1.0/both.html': page('both 1'),
  'repos/guide/2.0/index.html': page('start 2'),
  'repos/guide/2.0/both.html': page('both 2'),
  'repos/guide/2.0/new.html': page('new 2'),
}
const NAV = 'document.querySelector("body > div").shadowRoot.querySelector("nav")'

test('a reader changes the version with the keyboard, under a strict content security policy', async () => {
  const { url } = await startContent(FILES, {
    settings: {
      versions: { switcher: true },
      access: { rules: [{ repos: ['guide'], public: true }] },
    },
  })
  const browser = await openPage(`${url}/repos/guide/latest/both.html`)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => browser.evaluate<boolean>(expression).catch(() => false))
  const shown = (heading: string): Promise<void> =>
    until(heading, `document.querySelector("h1").textContent === "${heading}" && ${NAV} !== null`)
  await shown('both 2')
  expect(await browser.evaluate(`${NAV}.getAttribute("aria-label")`)).toBe('Versions')
  expect(await browser.evaluate(`${NAV}.querySelector("summary").textContent`)).toBe('Version 2.0 (latest)')
  expect(await browser.evaluate(`getComputedStyle(${NAV}).position`)).toBe('fixed')
  await browser.evaluate(`${NAV}.querySelector("summary").focus()`)
  await browser.press('Enter')
  await until('the open list', `${NAV}.querySelector("details").open`)
  expect(await browser.evaluate(`${NAV}.querySelector("[aria-current]").textContent`)).toBe('2.0 (latest)')
  expect(
    await browser.evaluate(`[...${NAV}.querySelectorAll("a")].every((each) => each.offsetHeight >= 24)`),
  ).toBe(true)
  await browser.evaluate(`${NAV}.querySelectorAll("a")[1].focus()`)
  await browser.press('Enter')
  await shown('both 1')
  expect(await browser.evaluate('location.pathname')).toBe('/repos/guide/1.0/both.html')

  await browser.evaluate('location.href = "/repos/guide/2.0/new.html"')
  await shown('new 2')
  await browser.evaluate(`${NAV}.querySelectorAll("a")[1].click()`)
  await shown('start 1')
  expect(await browser.evaluate('location.pathname')).toBe('/repos/guide/1.0/')
  // Only the missing page caused a message.
  expect(browser.complaints.filter((complaint) => !/404|"level":"(?:info|verbose)"/.test(complaint))).toEqual(
    [],
  )
})

test('on a phone the switcher is below the page, and covers nothing', async () => {
  const { url } = await startContent(
    {
      ...FILES,
      'repos/guide/frame.html': '<!doctype html><title>x</title><iframe src="2.0/both.html" width="360">',
    },
    {
      settings: {
        versions: { switcher: true },
        access: { rules: [{ repos: ['guide'], public: true }] },
      },
    },
  )
  const browser = await openPage(`${url}/repos/guide/frame.html`)
  const inside = NAV.replace('document', 'document.querySelector("iframe").contentDocument')
  await waitFor('the switcher', () => browser.evaluate<boolean>(`${inside} !== null`).catch(() => false))
  expect(await browser.evaluate(`getComputedStyle(${inside}).position`)).toBe('static')
})
