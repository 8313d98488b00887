import { type ParseError, parse, printParseErrorCode, visit } from 'jsonc-parser'

/** Far more than people write, and less than what exhausts the parser's stack. */
const MAX_DEPTH = 32
const MAX_VALUES = 10_000

/**
 * Reads JSON with comments and trailing commas as the official CLI does: byte order marks are skipped, and of
 * a text with a syntax error what can be read is used. `error` describes the first one.
 *
 * @throws Error with a sentence for a text whose parsed form would be harmful
 */
export function readJson(text: string): { readonly content: unknown; readonly error: string | undefined } {
  const marked = text.replace(/^\uFEFF+/, '')
  refuseExcess(marked)
  const errors: ParseError[] = []
  const content: unknown = parse(marked, errors, { allowTrailingComma: true })
  const [first] = errors
  if (first === undefined) return { content, error: undefined }
  const line = marked.slice(0, first.offset).split('\n').length
  return { content, error: `it is not valid JSON: ${printParseErrorCode(first.error)} in line ${line}` }
}

/** Rejects deep nesting, too many values, and the key that sets an object's prototype, through which other keys would be read. */
function refuseExcess(text: string): void {
  let depth = 0
  let values = 0
  const count = (): void => {
    if (++values > MAX_VALUES) throw new Error(`it has more than ${MAX_VALUES} values`)
  }
  const enter = (): void => {
    count()
    if (++depth > MAX_DEPTH) throw new Error(`it is nested more than ${MAX_DEPTH} levels deep`)
  }
  const leave = (): void => {
    depth--
  }
  const visitor = {
    onObjectBegin: enter,
    onObjectEnd: leave,
    onArrayBegin: enter,
    onArrayEnd: leave,
    onLiteralValue: count,
    onObjectProperty(name: string) {
      if (name === '__proto__') throw new Error('"__proto__" is not a valid property')
    },
  }
  visit(text, visitor, { allowTrailingComma: true })
}
