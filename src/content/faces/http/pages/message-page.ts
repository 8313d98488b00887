import { formatPath } from '../../../page/request-path.ts'
import { html } from './html.ts'
import { layout } from './layout.ts'

/**
 * Renders a page with an error and a link to the home page.
 *
 * @param message a sentence; a first word in lower case is capitalized, but no address, path or name in mixed case
 * @param repo repository that the page links to
 */
export function messagePage(heading: string, message: string, repo?: string): string {
  return layout(
    heading,
    html`<body class="narrow">
      <main class="card">
        <h1>${heading}</h1>
        <p>${message.replace(/^[a-z]+(?=[ ,])/, capitalize)}</p>
        ${repo === undefined ? undefined : html`<p><a href="${formatPath(['repos', repo], true)}">Documentation of ${repo}</a></p>`}
        <p><a href="/">All documentation</a></p>
      </main>
    </body>`,
  )
}

function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
