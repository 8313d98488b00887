import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readBuiltScript } from '../../../lib/fs/built-script.ts'
import { readPageStyle } from '../../../lib/fs/page-style.ts'
import { DEPENDENCY_TYPES } from './dependency-type.ts'
import type { graphView } from './graph.ts'
import type { GraphData } from './page/graph-data.ts'

/**
 * Renders a self-contained HTML page that draws a graph: packages as boxes that open, a search, and each
 * class's dependencies and dependents. Names come from untrusted class files: they are passed to the page's
 * script as data, and its policy allows no other script.
 *
 * @throws PAGE_NOT_BUILT as `readBuiltScript`
 */
export function renderHtml({ nodes, edges }: ReturnType<typeof graphView>): string {
  const packages = [...new Set(nodes.map(({ packageName }) => packageName))]
  const placeOf = new Map(packages.map((name, place) => [name, place]))
  const nodeOf = new Map(nodes.map(({ fqn }, node) => [fqn, node]))
  const types: readonly string[] = DEPENDENCY_TYPES
  const graph: GraphData = {
    packages,
    // Not the simple name, which nested classes can share.
    classes: nodes.map(({ fqn, packageName }) => [
      packageName === '' ? fqn : fqn.slice(packageName.length + 1),
      placeOf.get(packageName) ?? 0,
    ]),
    edges: edges.flatMap(({ source, target, type }) => [
      nodeOf.get(source) ?? 0,
      nodeOf.get(target) ?? 0,
      types.indexOf(type),
    ]),
    types,
  }
  const style = readPageStyle(new URL('page/page.css', import.meta.url))
  const script = readBuiltScript(new URL('built/page.js', import.meta.url))
  const policy = `default-src 'none'; style-src '${hashOf(style)}'; script-src '${hashOf(script)}'; base-uri 'none'; form-action 'none'`
  const data = JSON.stringify(graph).replaceAll('<', '\\u003c')
  const parts: Readonly<Record<string, string>> = {
    POLICY: policy,
    '<!-- style -->': `<style>${style}</style>`,
    '<!-- graph -->': `<script id="graph" type="application/json">${data}</script>`,
    '<!-- script -->': `<script>${script}</script>`,
  }
  return part('page.html').replace(/POLICY|<!-- \w+ -->/g, (name) => parts[name] ?? '')
}

function part(file: string): string {
  return readFileSync(new URL(`page/${file}`, import.meta.url), 'utf8')
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
