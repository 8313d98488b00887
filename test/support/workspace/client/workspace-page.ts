import type { BrowserPage } from '../../browser/browser.ts'
import { openPage } from '../../browser/chromium.ts'
import { keepScreenshot } from '../../browser/keep-screenshot.ts'
import { waitFor } from '../../wait-for.ts'

/** The page of a workspace server in a browser, with the actions that tests perform. */
export interface WorkspacePage extends BrowserPage {
  /** Waits until an expression in the page is true. */
  readonly until: (what: string, expression: string) => Promise<void>
  /** Waits until the text of the selected element contains the given text. */
  readonly untilText: (selector: string, text: string) => Promise<void>
  readonly untilGone: (selector: string) => Promise<void>
  /** Clicks the selected element once it exists. */
  readonly choose: (selector: string) => Promise<void>
  /** Replaces the content of a field. */
  readonly fill: (selector: string, text: string) => Promise<void>
  readonly goTo: (hash: string) => Promise<void>
  /** Saves light, dark and phone screenshots for review: PAGE_SCREENSHOTS=folder. */
  readonly keep: (name: string) => Promise<void>
}

/** Opens the workspace page in a browser. */
export async function openWorkspacePage(url: string): Promise<WorkspacePage> {
  const page = await openPage(url)
  const until = (what: string, expression: string): Promise<void> =>
    waitFor(what, () => page.evaluate<boolean>(expression))
  const untilFound = (selector: string): Promise<void> =>
    until(selector, `document.querySelector(${JSON.stringify(selector)}) !== null`)
  return {
    ...page,
    until,
    untilText: (selector, text) =>
      until(
        `"${text}" in ${selector}`,
        `document.querySelector(${JSON.stringify(selector)})?.textContent.includes(${JSON.stringify(text)}) === true`,
      ),
    untilGone: (selector) =>
      until(`no ${selector}`, `document.querySelector(${JSON.stringify(selector)}) === null`),
    async choose(selector) {
      await until(
        `${selector}, to be chosen`,
        `(() => { const found = document.querySelector(${JSON.stringify(selector)}); return found !== null && !found.disabled && found.getBoundingClientRect().width > 0 })()`,
      )
      await page.click(selector)
    },
    async fill(selector, text) {
      await untilFound(selector)
      await page.evaluate(
        `(() => { const field = document.querySelector(${JSON.stringify(selector)}); field.focus(); field.select() })()`,
      )
      await page.type(text)
    },
    goTo: (hash) => page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`),
    async keep(name) {
      await keepScreenshot(`${name}-light`, page)
      await page.setDark(true)
      await keepScreenshot(`${name}-dark`, page)
      await page.setDark(false)
      await page.setWidth(390)
      await keepScreenshot(`${name}-phone`, page)
      await page.resetWidth()
    },
  }
}
