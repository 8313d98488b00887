import axe from 'axe-core'
import { expect } from 'vitest'
import type { BrowserPage } from './browser.ts'

/** Fewer passing rules mean that a page was empty. */
const LEAST_PASSES = 10

/** Fails if axe-core finds anything in a page as it is now, with light or dark colors. `what` names the page in failures. */
export async function expectAccessible(page: BrowserPage, what: string): Promise<void> {
  await page.evaluate(`if (!window.axe) { ${axe.source} }`)
  for (const isDark of [true, false]) {
    await page.setDark(isDark)
    const { found, passes } = await page.evaluate<{ found: readonly string[]; passes: number }>(
      `axe.run().then(({ violations, passes }) => ({
        passes: passes.length,
        found: violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)),
      }))`,
    )
    expect(found, `${what}, ${isDark ? 'dark' : 'light'}`).toEqual([])
    expect(passes, `${what}: rules that passed`).toBeGreaterThan(LEAST_PASSES)
  }
}
