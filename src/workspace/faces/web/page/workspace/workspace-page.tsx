import { useEffect, useState } from 'preact/hooks'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { Status } from '../parts/status.tsx'
import { LIST, terminalHref } from '../routes.ts'
import { useStore } from '../state/store.ts'
import { followUsage } from '../state/usage.ts'
import { workspaces } from '../state/workspaces.ts'
import { texts } from '../texts.ts'
import { Checkpoints } from './checkpoints.tsx'
import { DeleteDialog } from './delete-dialog.tsx'
import { Extensions } from './extensions.tsx'
import { Facts } from './facts.tsx'
import { ForkDialog } from './fork-dialog.tsx'
import { Forks } from './forks.tsx'
import { LogLines } from './log-lines.tsx'
import { Ports } from './ports.tsx'
import { RunButton } from './run-button.tsx'
import { Sessions } from './sessions.tsx'
import { StatusReason } from './status-reason.tsx'
import { Timeline } from './timeline.tsx'
import { UsageCard } from './usage-card.tsx'

/** The page of a workspace: details, usage, sessions, ports, extensions, timeline and log. */
export function WorkspacePage({ name }: { readonly name: string }) {
  const isLoaded = useStore(workspaces, (all) => all !== undefined)
  const workspace = useStore(workspaces, (all) => all?.get(name))
  const [isDeleting, setDeleting] = useState(false)
  const [isForking, setForking] = useState(false)
  useEffect(followUsage, [])
  if (workspace === undefined) {
    return isLoaded ? <NotFound name={name} /> : <p class="faint">{texts.loading}</p>
  }
  const isRunning = workspace.status === 'running'
  return (
    <>
      <div class="page-head">
        <h1>{name}</h1>
        <Status status={workspace.status} />
        <div class="actions push">
          {isRunning && (
            <a class="button main" href={terminalHref(name)}>
              <Icon name="terminal" />
              {texts.workspace.shell}
            </a>
          )}
          {isRunning && workspace.backend !== 'docker' && (
            <RunButton workspace={workspace} action="suspend" />
          )}
          {workspace.status === 'suspended' && <RunButton workspace={workspace} action="stop" />}
          <RunButton workspace={workspace} />
          {canFork(workspace) && (
            <Button icon="fork" label={texts.actions.fork(name)} onClick={() => setForking(true)}>
              {texts.actionLabels.fork}
            </Button>
          )}
          <Button icon="delete" label={texts.actions.delete(name)} onClick={() => setDeleting(true)}>
            {texts.actionLabels.delete}
          </Button>
        </div>
      </div>
      <StatusReason workspace={workspace} />
      <div class="cards">
        <Facts workspace={workspace} />
        <UsageCard name={name} isRunning={isRunning} />
        {isRunning && <Running workspace={workspace} />}
        <Forks name={name} />
        {hasCheckpoints(workspace) && <Checkpoints workspace={workspace} />}
        <Timeline workspace={workspace} />
        <LogLines name={name} />
      </div>
      {isForking && <ForkDialog workspace={workspace} onClose={() => setForking(false)} />}
      {isDeleting && (
        <DeleteDialog
          workspace={workspace}
          onClose={() => setDeleting(false)}
          onDeleted={() => (location.hash = LIST)}
        />
      )}
    </>
  )
}

/** A directory of the server is in no copy, and pods cannot be copied. */
function hasCheckpoints({ backend, local_dir: localDir }: WireWorkspace): boolean {
  return localDir === undefined && backend !== 'kubernetes'
}

function canFork(workspace: WireWorkspace): boolean {
  const { status } = workspace
  return hasCheckpoints(workspace) && status !== 'starting' && status !== 'error'
}

function Running({ workspace }: { readonly workspace: WireWorkspace }) {
  return (
    <>
      <Sessions name={workspace.name} />
      <Ports workspace={workspace} />
      <Extensions name={workspace.name} />
    </>
  )
}

function NotFound({ name }: { readonly name: string }) {
  return (
    <p class="empty">
      {texts.workspace.notFound(name)} <a href={LIST}>{texts.workspace.toList}</a>
    </p>
  )
}
