import type { Repo } from '../../../repo/meta.ts'
import { nextOffset } from '../../../api/search.ts'
import { namedVersions } from '../../../repo/versions.ts'
import type { SearchResults, Hit, SearchQuery } from '../../../search/site-search.ts'
import { labelOf } from '../page/version-links.ts'
import { matchesWords, reposText, resultText, splitMarks, unsearchedText } from '../page/result-text.ts'
import { type Html, html } from './html.ts'
import { layout } from './layout.ts'

/** Content of the home page. */
export interface HomePage {
  readonly title: string
  readonly user: string
  readonly repos: readonly Repo[]
  /** The current query and its results. */
  readonly query: SearchQuery
  readonly found: SearchResults
}

/** Renders the list of repositories with a search that works without a script, and as you type with it. */
export function homePage({ title, user, repos, query, found }: HomePage): string {
  const next = nextOffset(found.hits.length, query.offset, found.total)
  const only = query.repo === undefined ? query.version : [query.repo, query.version ?? []].flat().join(' ')
  const isShown = (repo: Repo): boolean => matchesWords(textOf(repo), query.words)
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
          <input
            id="query"
            name="q"
            type="search"
            value="${query.words}"
            autocomplete="off"
            spellcheck="false"
          />
          ${(['repo', 'version'] as const).map((name) =>
            query[name] === undefined
              ? html``
              : html`<input type="hidden" name="${name}" value="${query[name]}" />`,
          )}
          <button>Search</button>
        </form>
        ${only === undefined ? html`` : html`<p>Only in ${only}. <a href="${linkTo({ words: query.words })}">Search everywhere</a></p>`}
        <section id="hits" aria-label="Pages" ${query.words === '' ? html`hidden` : html``}>
          <h2>Pages</h2>
          <p id="found" class="soft" role="status">
            ${resultText(found.hits.length, query.offset, found.total)}
          </p>
          <ol start="${query.offset + 1}">
            ${found.hits.map((hit) => showHit(hit, query.words))}
          </ol>
          <p id="partial" ${found.unsearched.length === 0 ? html`hidden` : html``}>
            ${unsearchedText(found.unsearched)}
          </p>
          <p>
            <a
              id="more"
              ${next === undefined ? html`hidden` : html``}
              href="${linkTo({ ...query, offset: next ?? 0 })}"
              >More results</a
            >
          </p>
        </section>
        <p id="count" role="status">${reposText(repos.filter(isShown).length, repos.length)}</p>
        <ul id="repos">
          ${repos.map((repo) => entry(repo, isShown(repo)))}
        </ul>
      </main>
    </body>`,
    html`<script type="module" src="/_page.js"></script>`,
  )
}

function showHit({ repo, version, url, title, excerpt, marks }: Hit, words: string): Html {
  return html`<li>
    <a href="${url}">${title || url}</a>
    <span class="soft"
      ><a href="${linkTo({ words, repo })}">${repo}</a>${version === undefined ? '' : ` ${version}`}</span
    >
    <p>
      ${splitMarks(excerpt, marks).map(({ text, isMarked }) => (isMarked ? html`<mark>${text}</mark>` : html`${text}`))}
    </p>
  </li>`
}

/** Returns the address of a search. */
function linkTo({ words, repo, version, offset = 0 }: Partial<SearchQuery>): string {
  const query = new URLSearchParams({ q: words ?? '' })
  if (repo !== undefined) query.set('repo', repo)
  if (version !== undefined) query.set('version', version)
  if (offset > 0) query.set('offset', String(offset))
  return `/?${query.toString()}`
}

/** Returns the text of the entry of a repository, which the page's script searches too. */
function textOf(shown: Repo): string {
  const { name, description = '', lastPublished } = shown
  const published = lastPublished === undefined ? '' : `published ${lastPublished.slice(0, 10)}`
  return [name, description, published, sourceOf(shown), ...namedVersions(shown).map(labelOf)].join(' ')
}

/** Returns the name of the repository's source, or of the link to it. */
function sourceOf({ repo, url }: Repo): string {
  return repo ?? (url === undefined ? '' : 'source')
}

function entry(shown: Repo, isShown: boolean): Html {
  const { name, description, lastPublished, url } = shown
  const versions = namedVersions(shown)
  const root = `/repos/${encodeURIComponent(name)}/`
  return html`<li class="card" ${isShown ? html`` : html` hidden`}>
    <h2><a href="${root}">${name}</a></h2>
    ${description === undefined ? html`` : html`<p>${description}</p>`}
    <p class="soft">
      ${lastPublished === undefined ? html`` : html`published <time datetime="${lastPublished}">${lastPublished.slice(0, 10)}</time> `}${
        url === undefined ? sourceOf(shown) : html`<a href="${url}" rel="noreferrer">${sourceOf(shown)}</a>`
      }
    </p>
    ${versions.length === 0 ? html`` : html`<p class="versions">${versions.map((each) => html`<a href="${root}${encodeURIComponent(each.version)}/">${labelOf(each)}</a> `)}</p>`}
  </li>`
}
