import { type JavaNode, parseJava } from '../source/java/java-parser.ts'
import { fileIssue, type StyleIssue } from './style-issue.ts'

/** Where a text stops being Java; undefined where it does not. */
export async function syntaxIssue(text: string): Promise<StyleIssue | undefined> {
  const tree = await parseJava(text)
  try {
    const node = firstError(tree.rootNode)
    if (node === undefined) return undefined
    const { row, column } = node.startPosition
    const [shown = ''] = node.text.split('\n')
    const detail = node.isMissing
      ? `"${node.type}" is missing`
      : `this is no Java: ${JSON.stringify(shown.trim().slice(0, 80))}`
    return fileIssue('syntax', detail, row + 1, column + 1)
  } finally {
    tree.delete()
  }
}

function firstError(node: JavaNode): JavaNode | undefined {
  if (!node.hasError) return undefined
  for (const child of node.children) {
    const found = child.isError || child.isMissing ? child : firstError(child)
    if (found !== undefined) return found
  }
  return node.isError || node.isMissing ? node : undefined
}
