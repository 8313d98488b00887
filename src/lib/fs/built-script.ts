import { readFileSync } from 'node:fs'
import { defineFaults } from '../errors/fault.ts'

const scriptFault = defineFaults({ PAGE_NOT_BUILT: 'unavailable' })

const known = new Map<string, string>()

/** Returns the bundled script of a page. @throws PAGE_NOT_BUILT in a checkout before its first build */
export function readBuiltScript(url: URL): string {
  try {
    const script = known.get(url.href) ?? readFileSync(url, 'utf8')
    known.set(url.href, script)
    return script
  } catch (error) {
    throw scriptFault('PAGE_NOT_BUILT', 'the script of this page is not built: run "npm run build"', error)
  }
}
