import { explain } from '../../../../api/explain.ts'
import { safeText, wrap } from '../text/cells.ts'
import { type Row, span, type Style } from '../text/rows.ts'
import type { State } from '../state/state.ts'

const INDENT = '  '

/** Returns the rows that explain the state of the selected process, all of them. */
export function whyRows({ why, nowMs, selected }: State, columns: number): readonly Row[] {
  if (why === undefined) return selected === '' ? [] : [[span('loading', 'dim')]]
  const { head, facts, output, advice } = explain(why, nowMs)
  const failures = why.healthcheck?.failures ?? []
  const label = Math.max(0, ...facts.map((fact) => fact.label.length)) + INDENT.length
  return [
    ...wrapped(head, columns, '', 'bold'),
    ...section('What to do', advice, columns),
    [],
    ...facts.flatMap((fact) =>
      fact.lines.flatMap((line, at) =>
        wrap(safeText(line), Math.max(1, columns - label)).map((text, row) => [
          span((at === 0 && row === 0 ? fact.label : '').padEnd(label), 'dim'),
          span(text),
        ]),
      ),
    ),
    ...section(
      'Output of failed checks',
      failures.flatMap((each) => each.output.split('\n')),
      columns,
    ),
    ...section('Last output', output, columns),
  ]
}

function section(title: string, lines: readonly string[], columns: number): readonly Row[] {
  if (lines.length === 0) return []
  return [
    [],
    [span(`${title}:`, 'bold')],
    ...lines.flatMap((line) => wrapped(line, columns, INDENT, 'plain')),
  ]
}

function wrapped(line: string, columns: number, indent: string, style: Style): readonly Row[] {
  return wrap(safeText(line), Math.max(1, columns - indent.length)).map((text) => [
    span(indent + text, style),
  ])
}
