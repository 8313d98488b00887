import { wrap } from '../text/cells.ts'
import { KEYS, MOUSE } from '../state/keys.ts'
import { type Row, span } from '../text/rows.ts'

/** Returns the rows of the help, all of them. */
export function helpRows(columns: number): readonly Row[] {
  const entries = [...KEYS, ...MOUSE]
  const label = Math.max(...entries.map(({ shown }) => shown.length)) + 2
  // On a narrow screen, a description is below its keys.
  const isNarrow = columns < 2 * label
  return [
    [span('Keys of supervisor top', 'bold')],
    [],
    ...entries.flatMap(({ shown, does }): readonly Row[] =>
      isNarrow
        ? [[span(shown, 'bold')], ...wrap(does, Math.max(1, columns - 2)).map((text) => [span(`  ${text}`)])]
        : wrap(does, columns - label).map((text, at) => [
            span((at === 0 ? shown : '').padEnd(label), 'bold'),
            span(text),
          ]),
    ),
  ]
}
