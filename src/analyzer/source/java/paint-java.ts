import { type JavaNode, parseJava } from './java-parser.ts'

/** Longer texts are shown as they are: nobody reads them on a terminal, and painting takes its time. */
const MAX_PAINTED = 2 ** 19

const RESET = '\u001b[0m'
const COLOURS = {
  comment: '\u001b[90m',
  text: '\u001b[32m',
  number: '\u001b[36m',
  annotation: '\u001b[33m',
  word: '\u001b[35m',
}
type Colour = keyof typeof COLOURS

/** Colours Java for a terminal by the tokens of its tree. The text must have no control characters but tabs and line ends. */
export async function paintJava(text: string): Promise<string> {
  if (text.length > MAX_PAINTED) return text
  const tree = await parseJava(text)
  try {
    let painted = ''
    let at = 0
    for (const { node, colour } of colouredTokens(tree.rootNode)) {
      painted +=
        text.slice(at, node.startIndex) + paintLines(text.slice(node.startIndex, node.endIndex), colour)
      at = node.endIndex
    }
    return painted + text.slice(at)
  } finally {
    tree.delete()
  }
}

/** A pager shows line by line, so each has its own colour. */
function paintLines(text: string, colour: Colour): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : COLOURS[colour] + line + RESET))
    .join('\n')
}

function* colouredTokens(node: JavaNode): Generator<{ readonly node: JavaNode; readonly colour: Colour }> {
  const colour = colourOf(node)
  if (colour !== undefined) yield { node, colour }
  else for (const child of node.children) yield* colouredTokens(child)
}

const WORDS = new Set([
  'integral_type',
  'floating_point_type',
  'boolean_type',
  'void_type',
  'this',
  'super',
  'true',
  'false',
  'null_literal',
])

function colourOf({ type, isNamed, text, childCount }: JavaNode): Colour | undefined {
  if (type.endsWith('_comment')) return 'comment'
  if (type === 'string_literal' || type === 'character_literal') return 'text'
  if (type.endsWith('_integer_literal') || type.endsWith('_floating_point_literal')) return 'number'
  if (type === 'marker_annotation') return 'annotation'
  if (type === '@') return 'annotation'
  if (WORDS.has(type)) return 'word'
  return !isNamed && childCount === 0 && isLetter(text.charCodeAt(0)) ? 'word' : undefined
}

function isLetter(code: number): boolean {
  return code >= 97 && code <= 122
}
