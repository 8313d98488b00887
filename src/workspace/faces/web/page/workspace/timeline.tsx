import type { WireTimeline } from '../../../../api/timeline.ts'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Card } from '../parts/card.tsx'
import { formatTimeOfDay, formatTime } from '../parts/format.ts'
import { QueryView } from '../parts/query-view.tsx'
import { useQuery } from '../parts/use-query.ts'
import { texts } from '../texts.ts'

/** Phases of a start appear one after the other, without a change of the workspace. */
const PHASES_EVERY_MS = 1_000
/** Logins and other events change nothing that the page follows. */
const EVENTS_EVERY_MS = 10_000

/** Events of a workspace, newest first. */
export function Timeline({ workspace }: { readonly workspace: WireWorkspace }) {
  const path = `/api/workspaces/${encodeURIComponent(workspace.name)}/timeline`
  const everyMs = workspace.status === 'starting' ? PHASES_EVERY_MS : EVENTS_EVERY_MS
  const query = useQuery<WireTimeline>(path, everyMs, workspace)
  return (
    <Card title={texts.timeline.title} name="timeline" isWide>
      <QueryView query={query}>
        {({ entries }) =>
          entries.length === 0 ? (
            <p class="faint">{texts.timeline.none}</p>
          ) : (
            <ol class="timeline scroll" tabIndex={0} aria-label={texts.timeline.title}>
              {entries.toReversed().map((entry, at) => (
                <li key={entries.length - at} data-type={entry.type}>
                  <time dateTime={entry.at} title={formatTime(entry.at)}>
                    {formatTimeOfDay(entry.at)}
                  </time>
                  <span class={entry.outcome === 'failed' ? 'problem' : undefined}>{entry.text}</span>
                </li>
              ))}
            </ol>
          )
        }
      </QueryView>
    </Card>
  )
}
