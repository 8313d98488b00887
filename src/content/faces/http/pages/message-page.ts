import { html } from './html.ts'
import { layout } from './layout.ts'

/** Renders a page with an error and a link to the home page. */
export function messagePage(heading: string, sentence: string): string {
  return layout(
    heading,
    html`<body class="narrow">
      <main class="card">
        <h1>${heading}</h1>
        <p>${sentence}</p>
        <p><a href="/">All documentation</a></p>
      </main>
    </body>`,
  )
}
