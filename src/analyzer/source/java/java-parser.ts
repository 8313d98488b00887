import { fileURLToPath } from 'node:url'
import { Language, Parser, type Tree } from 'web-tree-sitter'

export type { Node as JavaNode } from 'web-tree-sitter'

let opened: Promise<Parser> | undefined

/** Parses Java source to a tree, with error nodes if it is invalid. The caller must call `delete` on it. */
export async function parseJava(text: string): Promise<Tree> {
  opened ??= openParser()
  const tree = (await opened).parse(text)
  if (tree === null) throw new Error('the Java parser returned no tree')
  return tree
}

/** The formatter includes the grammar that it was made for. */
async function openParser(): Promise<Parser> {
  await Parser.init()
  const parser = new Parser()
  const plugin = import.meta.resolve('prettier-plugin-java')
  const grammar = fileURLToPath(new URL('./tree-sitter-java_orchard.wasm', plugin))
  return parser.setLanguage(await Language.load(grammar))
}
