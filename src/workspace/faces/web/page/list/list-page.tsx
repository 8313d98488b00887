import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { WireDiskReport } from '../../../../api/disk.ts'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Icon } from '../parts/icon.tsx'
import { useQuery } from '../parts/use-query.ts'
import { useKeys } from '../parts/use-keys.ts'
import { useNow } from '../parts/use-now.ts'
import { CREATE } from '../routes.ts'
import { DeleteDialog } from '../workspace/delete-dialog.tsx'
import { Store, useStore } from '../state/store.ts'
import { followUsage, usage } from '../state/usage.ts'
import { workspaces } from '../state/workspaces.ts'
import { texts } from '../texts.ts'
import { ListHead } from './list-head.tsx'
import { ListRow } from './list-row.tsx'
import { type Column, COLUMNS, FIRST_VIEW, type ListView, selectRows, sortBy } from './view.ts'

const DISK_EVERY_MS = 60_000
const AGE_EVERY_MS = 15_000
const STATUSES = ['all', 'running', 'suspended', 'stopped', 'starting', 'error'] as const

/** Outlives the page, so that filter and order are kept on return. */
const view = new Store<ListView>(FIRST_VIEW)

/** The page with the list of workspaces. */
export function ListPage() {
  const all = useStore(workspaces)
  const samples = useStore(usage)
  const shown = useStore(view)
  const nowMs = useNow(AGE_EVERY_MS)
  const filter = useRef<HTMLInputElement>(null)
  const [deleting, setDeleting] = useState<WireWorkspace>()
  const disk = useQuery<WireDiskReport>('/api/system/df?cached=true', DISK_EVERY_MS).value
  const diskBytes = useMemo(
    () => new Map(disk?.workspaces.map(({ name, total }) => [name, total.physical_bytes])),
    [disk],
  )
  useEffect(followUsage, [])
  useKeys({
    '/': () => filter.current?.focus(),
    ArrowDown: () => moveFocus(1),
    ArrowUp: () => moveFocus(-1),
  })
  const rows = selectRows(all?.values() ?? [], shown, { usage: samples, diskBytes })
  return (
    <>
      <div class="page-head">
        <h1>{texts.titles.list}</h1>
        <span class="faint" role="status">
          {all !== undefined && texts.list.count(rows.length, all.size)}
        </span>
        <input
          ref={filter}
          type="search"
          class="filter"
          aria-label={texts.list.filter}
          placeholder={texts.list.filterHint}
          value={shown.text}
          onInput={(event) => view.set({ ...shown, text: event.currentTarget.value })}
        />
        <select
          aria-label={texts.list.status}
          value={shown.status}
          onChange={(event) =>
            view.set({ ...shown, status: event.currentTarget.value as ListView['status'] })
          }
        >
          {STATUSES.map((status) => (
            <option key={status} value={status}>
              {status === 'all' ? texts.list.anyStatus : texts.status[status]}
            </option>
          ))}
        </select>
        {/* For narrow screens, which hide the column headings. */}
        <select
          class="narrow"
          aria-label={texts.list.sortBy}
          value={shown.column}
          onChange={(event) => view.set(sortBy(shown, event.currentTarget.value as Column))}
        >
          {COLUMNS.map((column) => (
            <option key={column} value={column}>
              {texts.columns[column]}
            </option>
          ))}
        </select>
        <a class="button main" href={CREATE}>
          <Icon name="add" />
          {texts.list.create}
        </a>
      </div>
      {all === undefined && <p class="faint">{texts.loading}</p>}
      {all?.size === 0 && (
        <p class="empty">
          {texts.list.none} <a href={CREATE}>{texts.list.createFirst}</a>
        </p>
      )}
      {all !== undefined && all.size > 0 && (
        <div class="table" role="table" aria-label={texts.titles.list} aria-rowcount={rows.length + 1}>
          <ListHead view={shown} onView={(next) => view.set(next)} />
          <div role="rowgroup" class="rows">
            {rows.map((row) => (
              <ListRow
                key={row.name}
                workspace={row}
                samples={samples.get(row.name)}
                diskBytes={diskBytes.get(row.name)}
                nowMs={nowMs}
                onDelete={setDeleting}
              />
            ))}
          </div>
        </div>
      )}
      {all !== undefined && all.size > 0 && rows.length === 0 && <p class="empty">{texts.list.noMatch}</p>}
      {deleting !== undefined && <DeleteDialog workspace={deleting} onClose={() => setDeleting(undefined)} />}
    </>
  )
}

/** Moves the focus by a number of workspace links. */
function moveFocus(by: number): void {
  const links = [...document.querySelectorAll<HTMLElement>('.rows .name a')]
  const at = links.findIndex((link) => link.closest('[role=row]')?.contains(document.activeElement))
  links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + by))]?.focus()
}
