import { Component } from 'preact'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Icon } from '../parts/icon.tsx'
import { Button } from '../parts/button.tsx'
import { formatAge, formatBytes, formatPercent, formatTime } from '../parts/format.ts'
import { Status } from '../parts/status.tsx'
import { CpuGraph, MemoryGraph } from '../parts/usage-graphs.tsx'
import { terminalHref, workspaceHref } from '../routes.ts'
import type { UsageSample } from '../state/usage-sample.ts'
import { texts } from '../texts.ts'
import { RunButton } from '../workspace/run-button.tsx'

interface ListRowProps {
  readonly workspace: WireWorkspace
  readonly samples: readonly UsageSample[] | undefined
  readonly diskBytes: number | undefined
  readonly nowMs: number
  readonly onDelete: (workspace: WireWorkspace) => void
}

/** A workspace in the list. Redrawn only when its own data changes, because there may be hundreds. */
export class ListRow extends Component<ListRowProps> {
  override shouldComponentUpdate(next: ListRowProps): boolean {
    const { props } = this
    return (
      next.workspace !== props.workspace ||
      next.samples !== props.samples ||
      next.diskBytes !== props.diskBytes ||
      formatAge(next.workspace.created_at, next.nowMs) !== formatAge(props.workspace.created_at, props.nowMs)
    )
  }

  override render({ workspace, samples, diskBytes, nowMs, onDelete }: ListRowProps) {
    const { name, status, backend, repo, created_at: createdAt } = workspace
    return (
      <div role="row" class="row" data-workspace={name}>
        <div role="cell" class="name">
          <a href={workspaceHref(name)}>{name}</a>
        </div>
        <div role="cell" class="status" title={workspace.status_reason?.reason ?? workspace.error_message}>
          <Status status={status} />
        </div>
        <div role="cell" class="backend">
          {backend}
        </div>
        <div role="cell" class="repo" title={repo}>
          {repo === '' ? (workspace.local_dir ?? '') : repo.replace(/^https:\/\/(?:github\.com\/)?/, '')}
        </div>
        <div role="cell" class="age" title={formatTime(createdAt)}>
          {formatAge(createdAt, nowMs)}
        </div>
        <UsageCells name={name} samples={samples} />
        <div role="cell" class="disk">
          {diskBytes === undefined ? '' : formatBytes(diskBytes)}
        </div>
        <div role="cell" class="row-actions">
          <RunButton workspace={workspace} textClass="roomy" />
          {status === 'running' && (
            <a
              class="button"
              href={terminalHref(name)}
              aria-label={texts.actions.terminal(name)}
              title={texts.actions.terminal(name)}
            >
              <Icon name="terminal" />
              <span class="roomy">{texts.workspace.shell}</span>
            </a>
          )}
          <Button icon="delete" label={texts.actions.delete(name)} onClick={() => onDelete(workspace)}>
            <span class="roomy">{texts.actionLabels.delete}</span>
          </Button>
        </div>
      </div>
    )
  }
}

function UsageCells({
  name,
  samples = [],
}: {
  readonly name: string
  readonly samples?: ListRowProps['samples']
}) {
  const last = samples.at(-1)
  return (
    <>
      <div role="cell" class="cpu">
        {last !== undefined && <CpuGraph name={name} samples={samples} />}
        <span class="narrow faint">{texts.columns.cpu}</span>
        <span>{last !== undefined && formatPercent(last.cpuPercent)}</span>
      </div>
      <div role="cell" class="memory">
        {last !== undefined && <MemoryGraph name={name} samples={samples} />}
        <span class="narrow faint">{texts.columns.memory}</span>
        <span>{last !== undefined && formatBytes(last.memoryBytes)}</span>
      </div>
    </>
  )
}
