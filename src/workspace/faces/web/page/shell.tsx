import { useEffect, useState } from 'preact/hooks'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { BusPage } from './bus/bus-page.tsx'
import { CreatePage } from './create/create-page.tsx'
import { DiskPage } from './disk/disk-page.tsx'
import { ListPage } from './list/list-page.tsx'
import { Dialog } from './parts/dialog.tsx'
import { Notices } from './parts/notices.tsx'
import { useKeys } from './parts/use-keys.ts'
import { BUS, CREATE, DISK, LIST, parseRoute, type Route } from './routes.ts'
import { missingTokens } from './server/request.ts'
import { loadServerInfo, serverInfo } from './state/server-info.ts'
import { useStore } from './state/store.ts'
import { connection, followWorkspaces } from './state/workspaces.ts'
import { TerminalPage } from './terminal/terminal-page.tsx'
import { texts } from './texts.ts'
import { TokenForm } from './token-form.tsx'
import { WorkspacePage } from './workspace/workspace-page.tsx'

const TABS = [
  [LIST, texts.tabs.workspaces, ['list', 'create', 'workspace', 'terminal']],
  [DISK, texts.tabs.disk, ['disk']],
  [BUS, texts.tabs.bus, ['bus']],
] as const

/** The frame of every page: navigation, connection status, and the token form. */
export function Shell() {
  const [route, setRoute] = useState<Route>(() => parseRoute(location.hash))
  const [isHelpOpen, setHelpOpen] = useState(false)
  const needsToken = useStore(missingTokens, (missing) => missing.has('server'))
  const name = useStore(serverInfo, (info) => info?.name)
  useEffect(() => {
    const show = (): void => {
      setRoute(parseRoute(location.hash))
      scrollTo(0, 0)
    }
    addEventListener('hashchange', show)
    return () => removeEventListener('hashchange', show)
  }, [])
  useEffect(() => {
    if (needsToken) return
    loadServerInfo().catch(ignore('the connection fails as well, and shows the error'))
  }, [needsToken])
  useEffect(followWorkspaces, [])
  useEffect(() => {
    document.title = [titleOf(route), name ?? texts.title].join(' · ')
  }, [route, name])
  useKeys({ '?': () => setHelpOpen(true), n: () => (location.hash = CREATE) })
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        {texts.skip}
      </a>
      <header class="top">
        <strong class="server">{name ?? texts.title}</strong>
        <nav aria-label={texts.tabs.label}>
          {TABS.map(([href, text, routes]) => (
            <a
              key={href}
              href={href}
              aria-current={(routes as readonly string[]).includes(route.is) ? 'page' : undefined}
            >
              {text}
            </a>
          ))}
        </nav>
        {!needsToken && <ConnectionBadge />}
      </header>
      <main id="main" tabIndex={-1}>
        {needsToken ? <TokenForm realm="server" /> : <Page route={route} />}
      </main>
      <Notices />
      {isHelpOpen && <Keys onClose={() => setHelpOpen(false)} />}
    </>
  )
}

function Page({ route }: { readonly route: Route }) {
  if (route.is === 'workspace') return <WorkspacePage key={route.name} name={route.name} />
  if (route.is === 'terminal') {
    const { name, session } = route
    return <TerminalPage key={`${name}/${session}`} name={name} session={session} />
  }
  const Shown = PAGES[route.is]
  return <Shown />
}

const PAGES = { list: ListPage, create: CreatePage, disk: DiskPage, bus: BusPage } as const

function titleOf(route: Route): string {
  if (route.is === 'workspace' || route.is === 'terminal') return route.name
  return texts.titles[route.is]
}

function ConnectionBadge() {
  const now = useStore(connection)
  return (
    <span class={`connection ${now.is}`} role="status" title={now.is === 'broken' ? now.why : undefined}>
      {texts.connection[now.is]}
    </span>
  )
}

function Keys({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title={texts.keys.title} onClose={onClose}>
      <dl class="keys">
        {texts.keys.all.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog" class="dialog-actions">
        <button class="button">{texts.close}</button>
      </form>
    </Dialog>
  )
}

/** Moves the focus without changing the fragment, which holds the route. */
function skipToMain(event: Event): void {
  event.preventDefault()
  document.getElementById('main')?.focus()
}
