import { type JavaNode, parseJava } from './java-parser.ts'

/** Longer texts are not highlighted: nobody reads them on a terminal, and highlighting takes time. */
const MAX_PAINTED = 2 ** 19

const RESET = '\u001b[0m'
const COLORS = {
  comment: '\u001b[90m',
  text: '\u001b[32m',
  number: '\u001b[36m',
  annotation: '\u001b[33m',
  word: '\u001b[35m',
}
type Color = keyof typeof COLORS

/**
 * Highlights Java for a terminal by the tokens of its tree. The text must have no control characters except
 * tabs and line ends.
 */
export async function paintJava(text: string): Promise<string> {
  if (text.length > MAX_PAINTED) return text
  const tree = await parseJava(text)
  try {
    let painted = ''
    let at = 0
    for (const { node, color } of coloredTokens(tree.rootNode)) {
      painted +=
        text.slice(at, node.startIndex) + paintLines(text.slice(node.startIndex, node.endIndex), color)
      at = node.endIndex
    }
    return painted + text.slice(at)
  } finally {
    tree.delete()
  }
}

/** A pager shows single lines, so each line has its own color codes. */
function paintLines(text: string, color: Color): string {
  return text
    .split('\n')
    .map((line) => (line === '' ? '' : COLORS[color] + line + RESET))
    .join('\n')
}

function* coloredTokens(node: JavaNode): Generator<{ readonly node: JavaNode; readonly color: Color }> {
  const color = colorOf(node)
  if (color !== undefined) yield { node, color }
  else for (const child of node.children) yield* coloredTokens(child)
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

function colorOf({ type, isNamed, text, childCount }: JavaNode): Color | undefined {
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
