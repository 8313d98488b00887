import { type ParseOptions, visit } from 'jsonc-parser'

/** Far more than people write; less than what exhausts the parser's stack. */
const MAX_DEPTH = 32
const MAX_VALUES = 10_000

/**
 * Refuses a text whose parsed form would be harmful: deep nesting, very many values, and the key that sets an object's prototype, from which other keys would
 * then be read.
 *
 * @throws Error with a sentence
 */
export function refuseExcess(text: string, options: ParseOptions): void {
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
  visit(text, visitor, options)
}
