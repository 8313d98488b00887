import { expect, test } from 'vitest'
import { openPage } from '../../../../support/browser/chromium.ts'
import { startContent } from '../../../../support/content/content-server.ts'
import { waitFor } from '../../../../support/wait-for.ts'

const FILES = { 'repos/a/page.html': '<!doctype html><title>x</title><h1>Page</h1><h2 id="part">Part</h2>' }

test('N5 a login opens the requested section, also after a wrong password', async () => {
  const { url } = await startContent(FILES)
  const address = `/repos/a/page.html?x=1#App\\Models\\User "é`
  const shown = '/repos/a/page.html?x=1#App\\Models\\User%20%22%C3%A9'
  const browser = await openPage(url + address)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => browser.evaluate<boolean>(expression).catch(() => false))
  const next = 'document.querySelector("input[name=next]")?.value'
  const enter = (password: string) =>
    browser.evaluate(
      `document.querySelector("#password").value = "${password}"; document.querySelector("form").submit()`,
    )
  await until('the login page', `${next} === ${JSON.stringify(shown)}`)
  await enter('wrong')
  await until('the error', `document.querySelector("#error") !== null`)
  expect(await browser.evaluate(next)).toBe(shown)
  await enter('right')
  await until('the page', 'document.querySelector("h1")?.textContent === "Page"')
  expect(await browser.evaluate('location.href')).toBe(url + shown)
  expect(browser.complaints.filter((complaint) => !/401|"level":"(?:info|verbose)"/.test(complaint))).toEqual(
    [],
  )
})

test('N5 a section that is too long is dropped, and the login works', async () => {
  const { url } = await startContent(FILES)
  const browser = await openPage(`${url}/repos/a/page.html#${'x'.repeat(20_000)}`)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => browser.evaluate<boolean>(expression).catch(() => false))
  await until('the login page', 'document.querySelector("#password") !== null')
  await browser.evaluate('document.querySelector("#password").value = "right"')
  await browser.evaluate('document.querySelector("form").submit()')
  await until('the page', 'document.querySelector("h1")?.textContent === "Page"')
  expect(await browser.evaluate('location.pathname')).toBe('/repos/a/page.html')
})

test('N5 a link to a provider keeps the requested section, which cannot be another site', async () => {
  const oidc = { issuer: 'http://127.0.0.1:9', client_id: 'docs' }
  const { url } = await startContent(FILES, { settings: { oidc } })
  const browser = await openPage(`${url}/repos/a/page.html#//evil.example`)
  const link = 'document.querySelector(`a[href*="oidc"]`)?.href'
  await waitFor('the link', () =>
    browser.evaluate<boolean>(`${link}?.includes("evil") === true`).catch(() => false),
  )
  expect(await browser.evaluate(link)).toBe(
    `${url}/_login/oidc?next=%2Frepos%2Fa%2Fpage.html%23%2F%2Fevil.example`,
  )
})
