import { expect, test } from 'vitest'
import { readPageText } from '../../../src/content/search/page-text.ts'

test.each([
  [
    '<title>T</title><nav>menu</nav><main><h1>H ¶</h1><p>one</p>two</main><footer>end</footer>',
    'H',
    'H. one two',
  ],
  ['<title>T</title><p>one<script>run()</script> two</p><style>x{}</style>', 'T', 'one two'],
  ['<div role="main">in<nav>menu</nav><img src=x>side</div>out', '', 'in side'],
  ['<div role=dialog>keys</div><p>words', '', 'words'],
  ['<var>x</var><tt>y</tt><del>old</del><ins>new</ins> <kbd>Ctrl</kbd><kbd>C</kbd>', '', 'xy old new Ctrl C'],
  ['a &amp; b &lt;c&gt; caf&eacute; <b>w</b>ord', '', 'a & b <c> café word'],
  ['<ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>を読む', '', '漢字を読む'],
  ['<ruby>漢<rp>(</rp><rt>かん<rp>)</rp>字<rp>(</rp><rt>じ<rp>)</rp></ruby>です', '', '漢字です'],
  ['<p>使用数\n  据库。\r\n是。</p><p>한국\n어', '', '使用数据库。是。 한국 어'],
  ['<p>日本\n<b>語</b> 文\nsql', '', '日本語 文 sql'],
  ['<p><b>日本</b>\n語<p>日本</p>\n語', '', '日本語 日本 語'],
  ['日本\n&#x8a9e;、日本<wbr>\n語、日本<!-- x -->\n語', '', '日本語、日本語、日本語'],
  ['<h2>日本</h2>\n語', '', '日本. 語'],
  ['<pre>数据\n库存\n\n管理</pre>', '', '数据 库存 管理'],
  ['日本\n　語', '', '日本 語'],
  ['<p><rt>x <p>after', '', 'x after'],
  ['<ruby>漢<rt>かん<p>after', '', '漢 after'],
  ['<h1><ruby><rb>東</rb><rt>とう</rt></ruby>京</h1>a', '東京', '東京. a'],
  ['<main><p>never closed', '', 'never closed'],
  ['</div></main>text', '', 'text'],
  ['', '', ''],
])('page %j has the title %j and the text %j', (html, title, text) => {
  expect(readPageText(html)).toEqual({ title, text, sections: [], isCut: false })
})

test.each([
  ['<h1>T</h1>a<h2 id="b">B</h2>b', [['b', 'B. b']]],
  [
    '<main><h1 id="t">T</h1>a<h2 id="b">B</h2>b<h3>no id</h3>c</main>',
    [
      ['t', 'T. a B. b no id. c'],
      ['b', 'B. b no id. c'],
    ],
  ],
  ['<section id="s"><h2>S <a href="#s">¶</a></h2>x</section>', [['s', 'S. x']]],
  ['y<h2><a name="n"></a>N</h2>', [['n', 'N']]],
  ['<nav><h2 id="menu">Menu</h2></nav><h2 id="">E</h2>', []],
  ['<h2 id="q">Why?</h2>x', [['q', 'Why? x']]],
] as const)('the sections of %j start at their headings', (html, sections) => {
  const page = readPageText(html)
  expect(page.sections.map(({ at, anchor }) => [anchor, page.text.slice(at)])).toEqual(sections)
})

test('only the start of a very long page is indexed', () => {
  const page = readPageText(`<p>${'word '.repeat(100_000)}`)
  expect([page.isCut, page.text.length < 300_000]).toEqual([true, true])
})
