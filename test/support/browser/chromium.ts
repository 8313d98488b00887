import { onTestFinished } from 'vitest'
import { type BrowserPage, openBrowser } from './browser.ts'

/** A page in a browser that ends with the test. */
export async function openPage(url: string): Promise<BrowserPage> {
  const { page, close } = await openBrowser(url)
  onTestFinished(close)
  return page
}
