import { escapeMarkup } from '../markup/escape.ts'

/** Contents of a page shown instead of the requested one. */
export interface Notice {
  readonly title: string
  readonly message: string
  /** Last lines printed by a process. */
  readonly lines?: readonly string[] | undefined
}

/** Headers of such a page, which runs no code. */
export const NOTICE_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'x-content-type-options': 'nosniff',
} as const

/** Renders a notice as HTML. */
export function renderNotice({ title, message, lines }: Notice): string {
  const printed =
    lines === undefined ? '' : `<h2>Last output</h2><pre>${lines.map(escapeMarkup).join('\n')}</pre>`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeMarkup(title)}</title>
<style>body{font:16px/1.5 system-ui;max-width:60rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}pre{overflow:auto;padding:1rem;border:1px solid #8886;border-radius:.4rem;font-size:13px}</style>
<h1>${escapeMarkup(title)}</h1><p>${escapeMarkup(message)}</p>${printed}</html>
`
}
