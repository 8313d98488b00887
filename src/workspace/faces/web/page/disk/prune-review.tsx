import type { WirePruneReport } from '../../../../api/prune.ts'
import { formatBytes } from '../parts/format.ts'
import { texts } from '../texts.ts'

/** Items that would be or were deleted, and those that are kept, with reasons. */
export function PruneReview({ report }: { readonly report: WirePruneReport }) {
  const { items, skipped, notes, totals, dry_run: isPlan } = report
  const labels = texts.prune
  const freed = formatBytes(totals.freed.physical_bytes)
  return (
    <>
      <p role="status">
        <strong>{isPlan ? labels.planned(totals.items, freed) : labels.done(totals.items, freed)}</strong>
      </p>
      {items.length > 0 && (
        <table class="figures" data-prune="items">
          <caption>{isPlan ? labels.toDelete : labels.deleted}</caption>
          <thead>
            <tr>
              <th scope="col">{labels.item}</th>
              <th scope="col">{labels.why}</th>
              <th scope="col">{labels.frees}</th>
            </tr>
          </thead>
          <tbody>
            {items.map(({ kind, name, path, freed: each, reason, action, error }) => (
              <tr key={`${kind} ${path} ${name}`}>
                <th scope="row" title={path}>
                  <span class="kind">{kind}</span> {name === '' ? path : name}
                </th>
                <td>
                  {reason}
                  {action === 'failed' && <span class="problem"> {labels.failed(error ?? '')}</span>}
                </td>
                <td>{formatBytes(each.physical_bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {skipped.length > 0 && (
        <table class="figures" data-prune="skipped">
          <caption>{labels.kept}</caption>
          <thead>
            <tr>
              <th scope="col">{labels.item}</th>
              <th scope="col">{labels.whyKept}</th>
            </tr>
          </thead>
          <tbody>
            {skipped.map(({ kind, name, path, reason }) => (
              <tr key={`${kind} ${path} ${name}`}>
                <th scope="row" title={path}>
                  <span class="kind">{kind}</span> {name === '' ? path : name}
                </th>
                <td class="reason">{reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {notes.map((note) => (
        <p key={note} class="faint">
          {note}
        </p>
      ))}
    </>
  )
}
