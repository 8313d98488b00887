import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserPage } from './browser.ts'

/** Saves what a page looks like, for review, if PAGE_SCREENSHOTS names a folder. */
export async function keepScreenshot(name: string, page: BrowserPage): Promise<void> {
  const folder = process.env['PAGE_SCREENSHOTS']
  if (folder === undefined) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${name}.png`), await page.screenshot())
}
