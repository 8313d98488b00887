import { Card } from '../parts/card.tsx'
import { Status } from '../parts/status.tsx'
import { workspaceHref } from '../routes.ts'
import { useStore } from '../state/store.ts'
import { workspaces } from '../state/workspaces.ts'
import { texts } from '../texts.ts'
import { type ForkTree, forkTreeOf } from './fork-tree.ts'

/** The tree of forks that a workspace belongs to, if there is one. */
export function Forks({ name }: { readonly name: string }) {
  const tree = useStore(workspaces, (all) => all && forkTreeOf(name, all))
  if (tree === undefined) return null
  return (
    <Card title={texts.forks.title} name="forks">
      <ul class="forks">
        <Branch tree={tree} current={name} />
      </ul>
    </Card>
  )
}

function Branch({ tree, current }: { readonly tree: ForkTree; readonly current: string }) {
  const { name, workspace, forks } = tree
  return (
    <li>
      <span class="fork">
        {workspace === undefined ? (
          <span class="faint">{texts.forks.deleted(name)}</span>
        ) : (
          <>
            <a href={workspaceHref(name)} aria-current={name === current ? 'page' : undefined}>
              {name}
            </a>
            <Status status={workspace.status} />
          </>
        )}
      </span>
      {forks.length > 0 && (
        <ul>
          {forks.map((fork) => (
            <Branch key={fork.name} tree={fork} current={current} />
          ))}
        </ul>
      )}
    </li>
  )
}
