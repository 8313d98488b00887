import type { IncomingMessage } from 'node:http'
import { type Notice, renderNotice } from '../../lib/http/notice-page.ts'

/** An answer that is ours and not a process's. */
export interface OwnAnswer extends Notice {
  readonly status: number
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
  return { type: 'text/html; charset=utf-8', body: renderNotice(answer) }
}
