import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { EDITORS } from '../../../../editors.ts'
import { formatLabels } from '../../../../format-labels.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { CopyLine } from '../parts/copy-line.tsx'
import { formatTime } from '../parts/format.ts'
import { scheduleWords } from '../parts/schedule-words.ts'
import { serverInfo } from '../state/server-info.ts'
import { useStore } from '../state/store.ts'
import { texts } from '../texts.ts'
import { SettingsDialog } from './settings-dialog.tsx'

/** Details of a workspace and the command to connect to it. */
export function Facts({ workspace }: { readonly workspace: WireWorkspace }) {
  const sshPort = useStore(serverInfo, (info) => info?.ssh_port)
  const [isEditing, setEditing] = useState(false)
  const labels = texts.facts
  return (
    <Card
      title={labels.title}
      name="facts"
      actions={<Button onClick={() => setEditing(true)}>{texts.settings.edit}</Button>}
    >
      <dl class="facts">
        <Fact name={labels.backend} value={workspace.backend} />
        <Fact name={labels.image} value={workspace.image} />
        <Fact name={labels.repo} value={<Repo repo={workspace.repo} />} isShown={workspace.repo !== ''} />
        <Fact name={labels.localDir} value={workspace.local_dir} />
        <Fact name={labels.labels} value={formatLabels(workspace.labels).join(', ')} />
        <Fact name={labels.stopAfter} value={idleText(workspace.idle?.stop_after)} />
        <Fact name={labels.suspendAfter} value={idleText(workspace.idle?.suspend_after)} />
        <Fact name={labels.expires} value={expiryText(workspace)} />
        <Fact name={labels.starts} value={timeText(workspace.schedule?.start, workspace)} />
        <Fact name={labels.stops} value={timeText(workspace.schedule?.stop, workspace)} />
        <Fact name={labels.settingsError} value={workspace.settings_error} />
        <Fact name={labels.created} value={formatTime(workspace.created_at)} />
        <Fact name={labels.cpus} value={workspace.cpus} />
        <Fact name={labels.memory} value={workspace.memory_mb && `${workspace.memory_mb} MiB`} />
        <Fact name={labels.address} value={workspace.ip_address} />
        <Fact name={labels.process} value={workspace.pid} />
        <Fact name={labels.id} value={workspace.container_id.slice(0, 12)} />
        <Fact name={labels.rootfs} value={workspace.rootfs_path} />
      </dl>
      {sshPort !== undefined && (
        <>
          <CopyLine text={sshLine(workspace.name, location.hostname, sshPort)} label={labels.copySsh} />
          {workspace.status === 'running' && <EditorLinks name={workspace.name} port={sshPort} />}
        </>
      )}
      {isEditing && <SettingsDialog workspace={workspace} onClose={() => setEditing(false)} />}
    </Card>
  )
}

/** Links that open a workspace in an editor on the user's machine, over SSH. */
function EditorLinks({ name, port }: { readonly name: string; readonly port: number }) {
  const host = location.hostname
  const target = { name, host, port, alias: `${name}@${host}:${port}` }
  return (
    <p class="editors">
      {texts.facts.openIn}
      {Object.entries(EDITORS).map(([key, { title, url }]) => (
        <a key={key} href={url(target)}>
          {title}
        </a>
      ))}
    </p>
  )
}

function idleText(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : texts.facts.idle(seconds)
}

function expiryText({ expires_at: at, expire_action: action }: WireWorkspace): string | undefined {
  return at === undefined ? undefined : texts.facts.expiry(formatTime(at), action ?? 'stop')
}

function timeText(time: string | undefined, { schedule }: WireWorkspace): string | undefined {
  return time === undefined ? undefined : texts.facts.scheduled(scheduleWords(time), schedule?.time_zone)
}

interface FactProps {
  readonly name: string
  readonly value: ComponentChildren
  readonly isShown?: boolean
}

function Fact({ name, value, isShown = value !== undefined && value !== '' }: FactProps) {
  if (!isShown) return null
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

/** Shows a repository, as a link only if it is a plain https URL: the URL is user input. */
function Repo({ repo }: { readonly repo: string }) {
  if (!/^https:\/\/[\w.-]+(?::\d+)?\/[\w./~-]*$/.test(repo)) return <>{repo}</>
  return (
    <a href={repo} target="_blank" rel="noreferrer">
      {repo}
    </a>
  )
}

function sshLine(name: string, host: string, port: number): string {
  return `ssh -p ${port} ${name}@${host.replace(/^\[|\]$/g, '')}`
}
