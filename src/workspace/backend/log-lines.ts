import { StringDecoder } from 'node:string_decoder'
import { stripVTControlCharacters } from 'node:util'

const MAX_LINE_LENGTH = 4096
// oxlint-disable-next-line no-control-regex -- matches control characters on purpose
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/**
 * Returns the last lines of a workspace's output as plain text. The output is untrusted and may contain
 * anything (threat H10).
 */
export function lastLogLines(printed: string, count: number): readonly string[] {
  const lines = stripVTControlCharacters(printed)
    .split('\n')
    .map((line) => line.replaceAll(CONTROL, '').slice(0, MAX_LINE_LENGTH))
  if (lines.at(-1) === '') lines.pop()
  return lines.slice(-count)
}

/** Splits a stream of untrusted output into plain lines, as they are completed. */
export async function* logLinesOf(output: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const chunk of output) {
    const lines = (rest + decoder.write(chunk)).split('\n')
    // The end of an overlong line is dropped, so that it cannot fill the memory.
    rest = (lines.pop() ?? '').slice(0, MAX_LINE_LENGTH)
    for (const line of lines) yield* lastLogLines(`${line}\n`, 1)
  }
  if (rest !== '') yield* lastLogLines(rest, 1)
}
