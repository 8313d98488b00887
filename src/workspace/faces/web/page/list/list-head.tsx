import { texts } from '../texts.ts'
import { type Column, COLUMNS, type ListView, sortBy } from './view.ts'

interface ListHeadProps {
  readonly view: ListView
  readonly onView: (view: ListView) => void
}

/** The column headings; clicking one sorts by it, clicking again reverses the order. */
export function ListHead({ view, onView }: ListHeadProps) {
  return (
    <div role="rowgroup" class="list-head">
      <div role="row" class="row">
        {COLUMNS.map((column) => (
          <div key={column} role="columnheader" class={column} aria-sort={orderOf(view, column)}>
            <button type="button" onClick={() => onView(sortBy(view, column))}>
              {texts.columns[column]}
            </button>
          </div>
        ))}
        <div role="columnheader" class="row-actions">
          <span class="out-of-sight">{texts.columns.actions}</span>
        </div>
      </div>
    </div>
  )
}

function orderOf(view: ListView, column: Column): 'ascending' | 'descending' | undefined {
  if (view.column !== column) return undefined
  return view.isDescending ? 'descending' : 'ascending'
}
