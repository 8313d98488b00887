import type { Repo } from '../../../repo/meta.ts'
import type { Found } from '../../../search/site-search.ts'
import { type Html, html } from './html.ts'
import { layout } from './layout.ts'

export interface HomePage {
  readonly title: string
  readonly user: string
  readonly repos: readonly Repo[]
  /** What was searched for, and found. */
  readonly query: string
  readonly found: Found
  /** Goes with the form that empties the cache; undefined for readers who have no session. */
  readonly formToken: string | undefined
}

/** The list of repositories, with a search that works without a script, and as one types with it. */
export function homePage({ title, user, repos, query, found, formToken }: HomePage): string {
  return layout(
    title,
    html`<body>
      <header>
        <h1>${title}</h1>
        <form method="post" action="/_logout">
          ${user === '' ? html`` : html`<span>${user}</span> `}<button class="plain">Log out</button>
        </form>
      </header>
      <main>
        <form role="search" action="/">
          <label for="query">Search</label>
          <input id="query" name="q" type="search" value="${query}" autocomplete="off" spellcheck="false" />
          <button>Search</button>
        </form>
        <p id="count" role="status">${count(repos.length)}</p>
        <section id="hits" aria-label="Pages" ${query === '' ? html`hidden` : html``}>
          <h2>Pages</h2>
          <ol>
            ${found.hits.map(
              ({ repo, url, title: name, excerpt }) =>
                html`<li>
                  <a href="${url}">${name || url}</a> <span class="soft">${repo}</span>
                  <p>${excerpt}</p>
                </li>`,
            )}
          </ol>
          <p id="none" ${found.hits.length > 0 ? html`hidden` : html``}>No page has these words.</p>
          <p id="partial" ${found.isComplete ? html`hidden` : html``}>
            Not all repositories could be searched.
          </p>
        </section>
        <ul id="repos">
          ${repos.map(entry)}
        </ul>
      </main>
      <footer>
        ${
          formToken === undefined
            ? html``
            : html`<form method="post" action="/_admin/cache/purge">
                <input type="hidden" name="token" value="${formToken}" /><button class="plain">
                  Empty the cache
                </button>
              </form>`
        }
      </footer>
    </body>`,
    html`<script type="module" src="/_page.js"></script>`,
  )
}

function entry({ name, description, lastPublished, repo, url, versions = [] }: Repo): Html {
  const root = `/repos/${encodeURIComponent(name)}/`
  return html`<li class="card">
    <h2><a href="${root}">${name}</a></h2>
    ${description === undefined ? html`` : html`<p>${description}</p>`}
    <p class="soft">
      ${lastPublished === undefined ? html`` : html`published <time datetime="${lastPublished}">${lastPublished.slice(0, 10)}</time> `}${
        url === undefined ? (repo ?? '') : html`<a href="${url}" rel="noreferrer">${repo ?? 'source'}</a>`
      }
    </p>
    ${versions.length === 0 ? html`` : html`<p class="versions">${versions.map((version) => html`<a href="${root}${encodeURIComponent(version)}/">${version}</a> `)}</p>`}
  </li>`
}

function count(repos: number): string {
  if (repos === 0) return 'Nothing is published yet.'
  return repos === 1 ? '1 repository' : `${repos} repositories`
}
