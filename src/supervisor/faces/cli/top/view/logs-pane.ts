import { fit } from '../text/cells.ts'
import { hitsOf, type Line } from '../state/lines.ts'
import { highlighted, type Row, span, type Style } from '../text/rows.ts'
import { lineColumns, linesInView, rowsOfLine } from '../state/scroll.ts'
import { layoutOf, type State } from '../state/state.ts'

const NAME_STYLES: readonly Style[] = ['cyan', 'yellow', 'green', 'magenta', 'blue']

/** Returns the rows of the lines in view, at most those of the pane. */
export function logRows(state: State): readonly Row[] {
  const { buffer, isLoaded } = state
  const { paneRows } = layoutOf(state)
  if (isLoaded && buffer.matching.length === 0) {
    const filter = buffer.filter === '' ? '' : ` that contain "${buffer.filter}"`
    return [[span(`no lines${filter}`, 'dim')]]
  }
  return linesInView(state)
    .flatMap((line) => rowsOf(line, state))
    .slice(0, paneRows)
}

function rowsOf(line: Line, state: State): readonly Row[] {
  const { search, hit, processes } = state
  const columns = lineColumns(state)
  const at = processes.findIndex(({ name }) => name === line.process)
  return rowsOfLine(line, columns.text, state).map((text, row) => [
    ...(columns.time === 0 ? [] : [span(fit(row === 0 ? line.time : '', columns.time), 'dim')]),
    ...(columns.name === 0
      ? []
      : [
          span(fit(row === 0 ? line.process : '', columns.name - 1), NAME_STYLES[at % NAME_STYLES.length]),
          span(' '),
        ]),
    line.isError ? span('! ', 'red') : span('| ', 'dim'),
    ...highlighted(text, columns.text, hitsOf(text, search), line.key === hit ? 'bold' : 'plain'),
  ])
}
