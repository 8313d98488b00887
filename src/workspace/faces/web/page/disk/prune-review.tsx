import type { WirePruneReport } from '../../../../api/prune.ts'
import { formatBytes } from '../parts/format.ts'
import { texts } from '../texts.ts'

/** What goes or went, and what stays and why. */
export function PruneReview({ report }: { readonly report: WirePruneReport }) {
  const { items, skipped, notes, totals, dry_run: isPlan } = report
  const words = texts.prune
  const freed = formatBytes(totals.freed.physical_bytes)
  return (
    <>
      <p role="status">
        <strong>{isPlan ? words.planned(totals.items, freed) : words.done(totals.items, freed)}</strong>
      </p>
      {items.length > 0 && (
        <table class="figures" data-prune="items">
          <caption>{isPlan ? words.goes : words.went}</caption>
          <thead>
            <tr>
              <th scope="col">{words.what}</th>
              <th scope="col">{words.why}</th>
              <th scope="col">{words.frees}</th>
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
                  {action === 'failed' && <span class="problem"> {words.failed(error ?? '')}</span>}
                </td>
                <td>{formatBytes(each.physical_bytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {skipped.length > 0 && (
        <table class="figures" data-prune="skipped">
          <caption>{words.stays}</caption>
          <thead>
            <tr>
              <th scope="col">{words.what}</th>
              <th scope="col">{words.whyNot}</th>
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
