import { onTestFinished } from 'vitest'
import { type BrowserPage, openBrowser } from './browser.ts'

/** Opens a page in a browser that is closed when the test ends. */
export async function openPage(url: string): Promise<BrowserPage> {
  const { page, close } = await openBrowser(url)
  onTestFinished(close)
  return page
}
