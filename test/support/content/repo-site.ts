import { expect } from 'vitest'
import { startContent, type TestContent } from './content-server.ts'
import { RepoBrowser } from './repo-browser.ts'
import { tempDir } from '../temp-dir.ts'

/** Files of the server in these tests. */
export const REPO_FILES = {
  'repos/guide/index.html': 'guide',
  'repos/guide/deep/index.html': 'deep',
  'repos/guide/_static/a.css': 'a {}',
  'repos/bare/page.html': 'bare',
  'repos/hr/index.html': 'salaries',
  'repos/My_Guide/index.html': 'mine',
  [`repos/${'n'.repeat(70)}/index.html`]: 'long',
  'repos/versioned/_meta.json': JSON.stringify({ versions: ['2.0'], latest: '2.0' }),
}
/** The common host of all repositories. */
export const COMMON = 'docs.example:99'

interface Given {
  readonly dir?: string
  readonly isSecure?: boolean
  readonly clock?: { readonly nowMs: () => number; readonly wallMs: () => number }
  readonly http?: object
}

/** Starts a content server whose repositories have hosts below docs.example. */
export async function startRepoHosts({
  dir = tempDir(),
  isSecure = false,
  clock,
  http = {},
}: Given = {}): Promise<TestContent> {
  return startContent(REPO_FILES, {
    dir,
    ...(clock && { clock }),
    settings: {
      http: { port: 0, repo_domain: 'docs.example', ...http },
      session: { file: `${dir}/sessions.db`, secure: isSecure },
    },
  })
}

/** Returns a browser whose user has logged in on the common host. */
export async function loggedIn({ url }: TestContent): Promise<RepoBrowser> {
  const browser = new RepoBrowser(url)
  const { status } = await browser.ask(
    `//${COMMON}/_login`,
    'POST',
    new URLSearchParams({ password: 'right' }),
  )
  expect(status).toBe(303)
  return browser
}
