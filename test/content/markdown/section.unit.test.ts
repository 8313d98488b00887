import { expect, test } from 'vitest'
import { sectionOf } from '../../../src/content/markdown/section.ts'
import { toMarkdown } from '../../../src/content/markdown/to-markdown.ts'

const HTML = `<h1 id="top">Page</h1>start
<h2 id="one">One <a href="#one">¶</a></h2><p>first<pre># not a heading {#fake}\n\`\`\`\n## nor this {#two}</pre>
<h3 id="inner">Inner</h3>deep
<blockquote><h4 id="quoted">Quoted</h4><pre>\`\`\`\n# x {#three}</pre></blockquote>
<h2>Unnamed</h2>without id
<section id="two"><h2>Two</h2><ul><li>a</ul></section>
<h2 id="last">Last</h2>`

test.each([
  ['top', /^# Page \{#top\}\n[^]*## Last \{#last\}\n$/],
  ['one', /^## One \{#one\}\n\nfirst\n\n````\n# not[^]*### Inner[^]*> ````\n$/],
  ['inner', /^### Inner \{#inner\}\n\ndeep\n[^]*> ````\n$/],
  ['quoted', /^> #### Quoted \{#quoted\}\n[^]*three[^]*> ````\n$/],
  ['two', /^## Two \{#two\}\n\n- a\n$/],
  ['last', /^## Last \{#last\}\n$/],
])('section %s is the text up to the next heading of its level', (anchor, text) => {
  const found = sectionOf(toMarkdown(HTML).markdown, anchor)
  expect('text' in found ? found.text : found).toMatch(text)
})

test.each(['fake', 'three', 'none', ''])('"%s" is not a section', (anchor) => {
  expect(sectionOf(toMarkdown(HTML).markdown, anchor)).toEqual({
    anchors: ['top', 'one', 'inner', 'quoted', 'two', 'last'],
  })
})
