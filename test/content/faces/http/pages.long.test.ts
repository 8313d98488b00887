import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../../src/lib/process/package.ts'
import { publish } from '../../../../src/content/publish/publish.ts'
import { expectAccessible } from '../../../support/browser/accessible.ts'
import { openPage } from '../../../support/browser/chromium.ts'
import { keepScreenshot } from '../../../support/browser/keep-screenshot.ts'
import { startContent } from '../../../support/content/content-server.ts'
import { tempDir } from '../../../support/temp-dir.ts'
import { waitFor } from '../../../support/wait-for.ts'

/** Builds a site with MkDocs. */
function buildSite(): string {
  const dir = tempDir()
  mkdirSync(join(dir, 'docs/deep'), { recursive: true })
  writeFileSync(
    join(dir, 'mkdocs.yml'),
    'site_name: Guide\nsite_url: ""\ntheme: {name: mkdocs, highlightjs: false}\n',
  )
  writeFileSync(join(dir, 'docs/index.md'), '# Welcome\n\nRead the [deep page](deep/page.md).\n')
  writeFileSync(join(dir, 'docs/deep/page.md'), '# Deep page\n\nHere is the zyzzyva.\n')
  execFileSync('mkdocs', ['build', '--quiet', '--site-dir', join(dir, 'site')], {
    cwd: dir,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return join(dir, 'site')
}

test('a reader logs in, reads a site that MkDocs built, searches and logs out', async () => {
  const { url, store } = await startContent()
  await publish(
    { folder: buildSite(), repo: 'guide', description: 'How to use it', deletes: false },
    { store, nowMs: Date.now() },
  )
  await publish(
    { folder: buildSite(), repo: 'other', version: '1.0', deletes: false },
    { store, nowMs: Date.now() },
  )
  const page = await openPage(`${url}/repos/guide/`)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => page.evaluate<boolean>(expression).catch(() => false))
  const path = 'location.pathname + location.search'
  expect(await page.evaluate(path)).toBe('/_login?next=/repos/guide/')
  await keepScreenshot('content-login', page)
  // The label belongs to the field, which has the focus.
  await until('the focus', 'document.activeElement?.id === "password"')
  expect(await page.evaluate('document.activeElement.labels[0].textContent')).toBe('Password')
  await page.type('wrong')
  await page.press('Enter')
  await until('the error', 'document.querySelector("[role=alert]") !== null')
  expect(await page.evaluate('document.getElementById("password").getAttribute("aria-describedby")')).toBe(
    'error',
  )
  await page.setDark(true)
  await keepScreenshot('content-wrong', page)
  await expectAccessible(page, 'the login')
  await page.click('#password')
  await page.type('right')
  await page.press('Enter')
  await until('the site', 'document.title.includes("Guide") && document.querySelector("h1") !== null')
  expect(await page.evaluate(path)).toBe('/repos/guide/')
  await until('its style', '[...document.styleSheets].length > 0')
  await keepScreenshot('content-site', page)
  await page.evaluate('document.querySelector("a[href*=\'deep/page\']").click()')
  await until(
    'the deep page',
    'location.pathname === "/repos/guide/deep/page/" && document.body.textContent.includes("zyzzyva")',
  )

  await page.evaluate('location.href = "/"')
  await until('the home page', 'document.querySelectorAll("#repos li").length === 2')
  await keepScreenshot('content-home', page)
  await page.click('#query')
  await page.type('zyzz')
  await until('what was found', 'document.querySelectorAll("#hits li").length === 2')
  expect(await page.evaluate('document.querySelector("#hits a").getAttribute("href")')).toMatch(
    /deep\/page\/(?:#deep-page)?$/,
  )
  await page.setDark(false)
  await keepScreenshot('content-search', page)
  await expectAccessible(page, 'the home page with hits')
  // On a phone nothing is wider than the screen.
  expect(
    await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
  ).toBe(true)

  await page.evaluate('document.querySelector("form[action=\'/_logout\'] button").click()')
  await until('the login', 'location.pathname === "/_login"')
  await page.evaluate('location.href = "/repos/guide/"')
  await until('the login again', 'location.search.includes("next")')
  // Only the wrong password caused messages.
  expect(page.complaints.filter((complaint) => !/401|"level":"(?:info|verbose)"/.test(complaint))).toEqual([])
})

test('words typed before the script has arrived are searched', async () => {
  const { url, store } = await startContent()
  const folder = tempDir()
  writeFileSync(join(folder, 'index.html'), '<title>Beasts</title><p>Here is the zyzzyva.')
  await publish({ folder, repo: 'beasts', deletes: false }, { store, nowMs: Date.now() })
  const page = await openPage(`${url}/_login`)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => page.evaluate<boolean>(expression).catch(() => false))
  const release = await page.hold('*/_page.js')
  await until('the focus', 'document.activeElement?.id === "password"')
  await page.type('right')
  await page.press('Enter')
  await until('the list', 'document.querySelectorAll("#repos li").length === 1')
  await page.click('#query')
  await page.type('zyzz')
  expect(await page.evaluate('document.getElementById("hits").hidden')).toBe(true)
  await release()
  await until('what was found', 'document.querySelectorAll("#hits li").length === 1')
})

test('the project’s own documentation can be published, browsed and searched', async () => {
  const { url, store, ask } = await startContent()
  const site = join(tempDir(), 'site')
  execFileSync(join(packageRoot, 'scripts/site'), [site], { stdio: ['ignore', 'ignore', 'inherit'] })
  await publish({ folder: site, repo: 'workspace-suite', deletes: true }, { store, nowMs: Date.now() })
  const page = await openPage(`${url}/repos/workspace-suite/`)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => page.evaluate<boolean>(expression).catch(() => false))
  await until('the focus', 'document.activeElement?.id === "password"')
  await page.type('right')
  await page.press('Enter')
  await until('the site', 'document.querySelector("h1")?.textContent === "Workspace suite"')
  const targets = await page.evaluate<readonly string[]>(
    '[...document.querySelectorAll(".navbar a")].map(({ href }) => href).filter((href) => !href.includes("#"))',
  )
  const pages = [...new Set(targets)].filter((target) => target.startsWith(url))
  expect(pages.length).toBeGreaterThanOrEqual(15)
  for (const target of pages) {
    await page.evaluate(`location.href = ${JSON.stringify(target)}`)
    await until(
      target,
      `location.href === ${JSON.stringify(target)} && document.querySelector("h1") !== null`,
    )
    // Every link on the same site works.
    const links = await page.evaluate<readonly string[]>(
      '[...document.querySelectorAll("[role=main] a")].map(({ href }) => href.split("#")[0])',
    )
    for (const link of new Set(links.filter((each) => each.startsWith(url))))
      expect([link, (await ask(link.slice(url.length))).status]).toEqual([link, 200])
  }
  const { hits } = (await (await ask('/_api/search?q=workspace+prune')).json()) as {
    hits: readonly unknown[]
  }
  expect(hits.length).toBeGreaterThan(0)
  expect(page.complaints.filter((complaint) => !/"level":"(?:info|verbose)"/.test(complaint))).toEqual([])
})
