import type { WireRequest } from '../../../../api/request.ts'
import { fit, safeText, wrap } from '../text/cells.ts'
import { type Row, span, type Style, textRow } from '../text/rows.ts'
import { layoutOf, type OpenedRequest, shownRequests, type State } from '../state/state.ts'

const TIME = 14
const STATUS = 8
const DURATION = 10
const METHOD = 9
const HEADINGS = [
  'TIME'.padEnd(TIME),
  'STATUS'.padEnd(STATUS),
  'DURATION'.padEnd(DURATION),
  'METHOD'.padEnd(METHOD),
]

/** Returns the rows of the requests in view, or of the opened one. */
export function requestRows(state: State): readonly Row[] {
  const { opened, request, requestsNote, selected, isAll, requestFilter } = state
  const { paneRows, paneColumns } = layoutOf(state)
  if (opened !== undefined)
    return openedRows(opened, paneColumns).slice(opened.scrolled, opened.scrolled + paneRows)
  const requests = shownRequests(state)
  if (requests.length === 0) {
    const to = isAll ? '' : ` to ${selected}`
    const none =
      requestFilter === '' ? `no requests${to} yet` : `no requests${to} that contain "${requestFilter}"`
    return wrap(requestsNote || none, paneColumns).map((text) => [span(text, 'dim')])
  }
  const first = firstRequest(state)
  const shown = requests.slice(first, first + Math.max(0, paneRows - 1))
  const chosen = request ?? requests[0]?.id
  return [
    [span(`${HEADINGS.join('')}SUBDOMAIN, URL`, 'bold')],
    ...shown.map((each): Row => {
      const isChosen = each.id === chosen
      const [start, status, end] = textsOf(each)
      if (isChosen) return textRow(start + status + end, paneColumns, 'inverse')
      return [span(start), span(status, styleOf(each)), span(end)]
    }),
  ]
}

/** Returns the index of the first request in view. */
export function firstRequest(state: State): number {
  const at = shownRequests(state).findIndex(({ id }) => id === state.request)
  // The headings need a row.
  return Math.max(0, at + 2 - layoutOf(state).paneRows)
}

/** Returns the rows of a request with the lines that belong to it, all of them. */
export function openedRows({ request, lines }: OpenedRequest, columns: number): readonly Row[] {
  const { method, url, status_code: status, process, subdomain } = request
  const head = `${method} ${url}: status ${status} in ${request.duration_ms} ms, process ${process ?? '-'}, subdomain ${subdomain || '-'}`
  const none =
    lines === undefined
      ? 'loading'
      : lines.length === 0
        ? `${process ?? 'no process'} printed nothing during this request`
        : undefined
  return [
    ...wrap(safeText(head), columns).map((text): Row => [span(text, 'bold')]),
    ...(none === undefined ? [] : [[span(none, 'dim')]]),
    ...(lines ?? []).flatMap(({ text, time, isError }) =>
      wrap(text, Math.max(1, columns - TIME - 1)).map((part, row): Row => [
        span(fit(row === 0 ? time : '', TIME - 1), 'dim'),
        isError ? span('! ', 'red') : span('| ', 'dim'),
        span(part),
      ]),
    ),
  ]
}

function textsOf(request: WireRequest): readonly [start: string, status: string, end: string] {
  const { timestamp, method, subdomain, url, status_code: status, held_ms: held } = request
  const place = `${subdomain || '-'} ${url}${held === 0 ? '' : ` (held for ${held} ms)`}`
  const end = `${fit(`${request.duration_ms} ms`, DURATION)}${fit(safeText(method), METHOD)}${place}`
  return [
    fit(timestamp.slice(11, 23), TIME),
    fit(String(status), STATUS),
    safeText(end).replaceAll('\t', ' '),
  ]
}

function styleOf({ status_code: status }: WireRequest): Style {
  return status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green'
}
