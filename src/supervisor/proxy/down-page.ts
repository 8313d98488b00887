import type { IncomingMessage } from 'node:http'

/** An answer that is ours and not a process's. */
export interface OwnAnswer {
  readonly status: number
  readonly title: string
  readonly message: string
  /** What the process has printed last. */
  readonly lines?: readonly string[]
}

/** As JSON for programs that ask for it, else as a page. */
export function renderAnswer(
  request: IncomingMessage,
  answer: OwnAnswer,
): { readonly type: string; readonly body: string } {
  if (/\bjson\b/.test(request.headers.accept ?? ''))
    return {
      type: 'application/json',
      body: JSON.stringify({ error: answer.message, code: answer.title, lines: answer.lines }),
    }
  const lines =
    answer.lines === undefined
      ? ''
      : `<h2>Its last lines</h2><pre>${answer.lines.map(escaped).join('\n')}</pre>`
  return {
    type: 'text/html; charset=utf-8',
    body: `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(answer.title)}</title>
<style>body{font:16px/1.5 system-ui;max-width:60rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}pre{overflow:auto;padding:1rem;border:1px solid #8886;border-radius:.4rem;font-size:13px}</style>
<h1>${escaped(answer.title)}</h1><p>${escaped(answer.message)}</p>${lines}</html>
`,
  }
}

/** Headers of such a page: nothing in it runs. */
export const OWN_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'x-content-type-options': 'nosniff',
} as const

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
