import type { ComponentChildren } from 'preact'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Card } from '../parts/card.tsx'
import { CopyLine } from '../parts/copy-line.tsx'
import { formatTime } from '../parts/format.ts'
import { serverInfo } from '../state/server-info.ts'
import { useStore } from '../state/store.ts'
import { texts } from '../texts.ts'

/** The fields of a workspace, and the line that enters it. */
export function Facts({ workspace }: { readonly workspace: WireWorkspace }) {
  const sshPort = useStore(serverInfo, (info) => info?.ssh_port)
  const words = texts.facts
  return (
    <Card title={words.title} name="facts">
      <dl class="facts">
        <Fact name={words.backend} value={workspace.backend} />
        <Fact name={words.image} value={workspace.image} />
        <Fact name={words.repo} value={<Repo repo={workspace.repo} />} isShown={workspace.repo !== ''} />
        <Fact name={words.localDir} value={workspace.local_dir} />
        <Fact name={words.created} value={formatTime(workspace.created_at)} />
        <Fact name={words.cpus} value={workspace.cpus} />
        <Fact name={words.memory} value={workspace.memory_mb && `${workspace.memory_mb} MiB`} />
        <Fact name={words.address} value={workspace.ip_address} />
        <Fact name={words.process} value={workspace.pid} />
        <Fact name={words.id} value={workspace.container_id.slice(0, 12)} />
        <Fact name={words.rootfs} value={workspace.rootfs_path} />
      </dl>
      {sshPort !== undefined && (
        <CopyLine text={sshLine(workspace.name, location.hostname, sshPort)} label={words.copySsh} />
      )}
    </Card>
  )
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

/** A link only where it leads to the web: what is in a repository's URL was said by whoever made the workspace. */
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
