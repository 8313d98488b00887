import { readFileSync } from 'node:fs'

/** Returns the style sheet of a page, after the colors that all pages share. */
export function readPageStyle(file: URL): string {
  return [new URL('../page/tokens.css', import.meta.url), file]
    .map((each) => readFileSync(each, 'utf8'))
    .join('\n')
}
