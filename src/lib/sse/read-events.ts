/** A server-sent event. */
export interface ServerEvent {
  /** `message` for an event without a name. */
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

/**
 * Yields the events of a stream as WHATWG HTML §9.2.6 parses them. An event is complete with the empty line after it, so that one
 * that was cut off is discarded.
 */
export async function* readEvents(chunks: AsyncIterable<string>): AsyncGenerator<ServerEvent, void, void> {
  let fields = new Map<string, string>()
  for await (const line of linesOf(chunks)) {
    if (line !== '') {
      addField(fields, line)
      continue
    }
    const data = fields.get('data')
    if (data !== undefined) yield { event: fields.get('event') || 'message', data, id: fields.get('id') }
    fields = new Map()
  }
}

function addField(fields: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/su.exec(line) ?? []
  const earlier = name === 'data' ? fields.get('data') : undefined
  fields.set(name, earlier === undefined ? value : `${earlier}\n${value}`)
}

/** Yields complete lines, which end with LF, CR LF or CR. */
async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  // A long line arrives in many chunks: they are joined once, at its end.
  let parts: string[] = []
  let endsWithReturn = false
  let isFirst = true
  for await (const chunk of chunks) {
    if (chunk === '') continue
    let text = isFirst && chunk.startsWith('\uFEFF') ? chunk.slice(1) : chunk
    isFirst = false
    if (endsWithReturn && text.startsWith('\n')) text = text.slice(1)
    endsWithReturn = chunk.endsWith('\r')
    const lines = text.split(/\r\n|\n|\r/)
    parts.push(lines[0] ?? '')
    if (lines.length === 1) continue
    yield parts.join('')
    yield* lines.slice(1, -1)
    parts = [lines.at(-1) ?? '']
  }
}
