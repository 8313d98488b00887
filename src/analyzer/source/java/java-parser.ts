import { fileURLToPath } from 'node:url'
import { Language, Parser, type Tree } from 'web-tree-sitter'

export type { Node as JavaNode } from 'web-tree-sitter'

let opened: Promise<Parser> | undefined

/** The syntax tree of a Java source text; with errors in it where the text is none. Whoever asks calls `delete` on it. */
export async function parseJava(text: string): Promise<Tree> {
  opened ??= openParser()
  const tree = (await opened).parse(text)
  if (tree === null) throw new Error('the Java parser gave no tree')
  return tree
}

/** The formatter brings the grammar that it is made for. */
async function openParser(): Promise<Parser> {
  await Parser.init()
  const parser = new Parser()
  const plugin = import.meta.resolve('prettier-plugin-java')
  const grammar = fileURLToPath(new URL('./tree-sitter-java_orchard.wasm', plugin))
  return parser.setLanguage(await Language.load(grammar))
}
