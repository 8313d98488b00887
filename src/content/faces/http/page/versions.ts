// The version switcher of published pages. A page chooses its place with an element with the attribute
// `data-versions`; otherwise it is in a corner. Links work without a mouse and announce the current version; a page
// that a version does not have opens the start of that version. Style sheets made by a script are allowed under any
// `style-src`.
import { ignore } from '../../../../lib/errors/ignore.ts'
import { make } from '../../../../lib/page/elements.ts'
import { labelOf, placeOf, type VersionPlace } from './version-links.ts'

interface Version {
  readonly version: string
  readonly aliases: readonly string[]
  readonly expires?: string
  readonly url: string
}

const STYLE = `
  :host { all: initial; color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif }
  nav { color: CanvasText; background: Canvas; border: 1px solid GrayText; border-radius: 6px; max-width: 20em }
  nav.corner { position: fixed; right: 12px; bottom: 12px; z-index: 2147483647 }
  /* On a small screen it would cover the text. */
  @media (max-width: 40em) { nav.corner { position: static; margin: 12px } }
  summary { padding: 6px 12px; cursor: pointer }
  ul { margin: 0; padding: 0 0 6px; list-style: none; max-height: 50vh; overflow: auto }
  a { display: block; padding: 4px 12px; min-height: 24px; color: LinkText; overflow-wrap: anywhere }
  a[aria-current] { color: CanvasText; font-weight: bold; text-decoration: none }
  summary:focus-visible, a:focus-visible { outline: 2px solid Highlight; outline-offset: -2px }
`

async function addSwitcher(place: VersionPlace): Promise<void> {
  const response = await fetch(`/_api/versions${place.query}`, { redirect: 'error' })
  if (!response.ok) return
  const { versions } = (await response.json()) as { readonly versions: readonly Version[] }
  const isCurrent = ({ version, aliases }: Version): boolean =>
    version === place.current || aliases.includes(place.current)
  const current = versions.find(isCurrent)
  if (current === undefined || versions.length < 2) return

  const details = make(
    'details',
    {},
    make('summary', {}, `Version ${labelOf(current)}`),
    make('ul', {}, ...versions.map((version) => entry(version, place, version === current))),
  )
  details.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !details.open) return
    details.open = false
    details.querySelector('summary')?.focus()
  })
  show(details)
}

function entry(version: Version, { page }: VersionPlace, isCurrent: boolean): HTMLElement {
  const link = make('a', { href: version.url + page + location.hash }, labelOf(version))
  if (isCurrent) link.setAttribute('aria-current', 'true')
  link.addEventListener('click', (event) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void openVersion(link.href, version.url)
  })
  return make('li', {}, link)
}

/** Opens the same page in a version, or the start of the version if the page is missing there. */
async function openVersion(same: string, start: string): Promise<void> {
  const isThere = await fetch(same, { method: 'HEAD' }).then(
    ({ ok }) => ok,
    () => false,
  )
  location.assign(isThere ? same : start)
}

function show(details: HTMLElement): void {
  const nav = make('nav', { ariaLabel: 'Versions' }, details)
  let host = document.querySelector<HTMLElement>('[data-versions]')
  if (host === null) {
    nav.className = 'corner'
    host = make('div')
    document.body.append(host)
  }
  const root = host.attachShadow({ mode: 'open' })
  const style = new CSSStyleSheet()
  style.replaceSync(STYLE)
  root.adoptedStyleSheets = [style]
  root.append(nav)
}

// A site may include the script that the server adds too.
const marker = document.documentElement.dataset
const place = placeOf(location.pathname)
if (place !== undefined && marker['versionSwitcher'] === undefined) {
  marker['versionSwitcher'] = ''
  const start = (): void => void addSwitcher(place).catch(ignore('the page is readable without the switcher'))
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start)
  else start()
}
