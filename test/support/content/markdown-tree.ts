import plugin from '@textlint/textlint-plugin-markdown'

/** Importers see the CommonJS module or its default export. */
const { Processor } = (plugin as Partial<typeof plugin>).default ?? (plugin as never)

/** A node of parsed Markdown. */
export interface MarkdownNode {
  readonly type: string
  readonly value?: string
  readonly url?: string
  readonly depth?: number
  readonly ordered?: boolean
  readonly lang?: string | null
  readonly children?: readonly MarkdownNode[]
}

/** Parses GitHub Flavored Markdown. */
export function parseMarkdown(markdown: string): MarkdownNode {
  const { preProcess } = new Processor({}).processor('.md')
  return preProcess(markdown) as unknown as MarkdownNode
}

/** Returns a node with all nodes inside. */
export function nodesIn(node: MarkdownNode): readonly MarkdownNode[] {
  return [node, ...(node.children ?? []).flatMap(nodesIn)]
}

/** Returns the text of a node. */
export function textIn(node: MarkdownNode): string {
  return nodesIn(node)
    .map(({ value = '' }) => value)
    .join('')
}
