import { expect, test } from 'vitest'
import { readPageText } from '../../../src/content/search/page-text.ts'

test.each([
  [
    '<title>T</title><nav>menu</nav><main><h1>H ¶</h1><p>one</p>two</main><footer>end</footer>',
    'H',
    'H one two',
  ],
  ['<title>T</title><p>one<script>run()</script> two</p><style>x{}</style>', 'T', 'one two'],
  ['<div role="main">in<nav>menu</nav><img src=x>side</div>out', '', 'in side'],
  ['<div role=dialog>keys</div><p>words', '', 'words'],
  ['a &amp; b &lt;c&gt; caf&eacute; <b>w</b>ord', '', 'a & b <c> café word'],
  ['<main><p>never closed', '', 'never closed'],
  ['</div></main>text', '', 'text'],
  ['', '', ''],
])('of %j the title is %j and the text %j', (html, title, text) => {
  expect(readPageText(html)).toEqual({ title, text })
})
