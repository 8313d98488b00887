import { escapeMarkup } from '../../../lib/markup/escape.ts'
import { GRAPH_FORMATS } from '../../choices.ts'
import type { graphView } from './graph.ts'
import { renderHtml } from './graph-html.ts'

/** Output format of the dependency graph. */
export type GraphFormat = (typeof GRAPH_FORMATS)[number]

type Graph = ReturnType<typeof graphView>

/** Renders a dependency graph for another program. */
export function renderGraph(graph: Graph, format: Exclude<GraphFormat, 'json'>): string {
  return RENDERERS[format](graph)
}

const RENDERERS: Readonly<Record<Exclude<GraphFormat, 'json'>, (graph: Graph) => string>> = {
  html: renderHtml,

  dot: ({ nodes, edges }) =>
    [
      'digraph dependencies {',
      '  rankdir=LR;',
      '  node [shape=box, style=rounded];',
      '  edge [style=solid];',
      ...nodes.map(({ fqn, simpleName }) => `  ${quoted(fqn)} [label=${quoted(simpleName)}];`),
      ...pairs(edges).map(([source, target]) => `  ${quoted(source)} -> ${quoted(target)};`),
      '}',
    ].join('\n'),

  mermaid: ({ nodes, edges }) => {
    const indexOf = new Map(nodes.map(({ fqn }, at) => [fqn, at]))
    return [
      'graph LR',
      ...nodes.map(({ simpleName }, at) => `  n${at}["${simpleName.replaceAll('"', '#quot;')}"]`),
      ...pairs(edges).map(([source, target]) => `  n${indexOf.get(source)} --> n${indexOf.get(target)}`),
    ].join('\n')
  },

  graphml: ({ nodes, edges }) =>
    [
      '<?xml version="1.0" encoding="UTF-8"?>',
      '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
      '  <key id="simpleName" for="node" attr.name="simpleName" attr.type="string"/>',
      '  <key id="package" for="node" attr.name="package" attr.type="string"/>',
      '  <key id="type" for="edge" attr.name="type" attr.type="string"/>',
      '  <graph id="dependencies" edgedefault="directed">',
      ...nodes.map(
        ({ fqn, simpleName, packageName }) =>
          `    <node id="${escapeMarkup(fqn)}"><data key="simpleName">${escapeMarkup(simpleName)}</data><data key="package">${escapeMarkup(packageName)}</data></node>`,
      ),
      ...edges.map(
        ({ source, target, type }) =>
          `    <edge source="${escapeMarkup(source)}" target="${escapeMarkup(target)}"><data key="type">${type}</data></edge>`,
      ),
      '  </graph>',
      '</graphml>',
    ].join('\n'),
}

/** Returns the distinct pairs of source and target, ignoring types. */
function pairs(edges: Graph['edges']): readonly (readonly [string, string])[] {
  return edges
    .filter(({ source, target }, at) => edges[at - 1]?.source !== source || edges[at - 1]?.target !== target)
    .map(({ source, target }) => [source, target])
}

function quoted(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
