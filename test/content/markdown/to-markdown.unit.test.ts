import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { toMarkdown } from '../../../src/content/markdown/to-markdown.ts'
import { readPageText } from '../../../src/content/search/page-text.ts'
import { escapeMarkup } from '../../../src/lib/markup/escape.ts'
import { type MarkdownNode, nodesIn, parseMarkdown, textIn } from '../../support/content/markdown-tree.ts'
import { rounds } from '../../support/rounds.ts'

test.each([
  ['', ''],
  ['<title>T &amp; U</title><nav>menu</nav>words<footer>end</footer>', '# T & U\n\nwords\n'],
  ['<title>T</title><main><h1 id=h>H <a href="#h">¶</a></h1>x</main>', '# H {#h}\n\nx\n'],
  ['<article><header><h1>In a header</h1></header><p>x</article>', '# In a header\n\nx\n'],
  ['<section id=s><h2>S</h2></section><h3>no id</h3>', '## S {#s}\n\n### no id\n'],
  ['<p>a <b>bold <i>both</i></b> <del>x</del> b<br>c', 'a **bold *both*** ~~x~~ b\\\nc\n'],
  ['<p>a<b> spaced </b>b <b></b><b><b>once</b></b>', 'a **spaced** b **once**\n'],
  ['<p><code>a`b</code> <kbd>` </kbd> <code>*</code>', '``a`b`` `` ` `` `*`\n'],
  ['<a href="b c(1).html?x=1&amp;y">l</a>', '[l](b%20c%281%29.html?x=1&y)\n'],
  [
    'wow!<a href=x>y</a> <img src=i.png alt="a [b]"><img src="data:x" alt=d>',
    'wow\\![y](x) ![a \\[b\\]](i.png)d\n',
  ],
  ['<base href="../up/"><a href=x>y</a> <a href=#s>z</a> <a href=/r>r</a>', '[y](../up/x) [z](#s) [r](/r)\n'],
  ['<a href="/x"><div>Card</div><p>more</p></a>', '[Card](/x)\n\nmore\n'],
  ['<pre class="language-js"><code>\nlet a\n\n  b</code></pre>', '```js\nlet a\n\n  b\n```\n'],
  [
    '<div class=highlight-python><div class=highlight><pre><b>def</b> f\n</pre></div></div>',
    '```python\ndef f\n```\n',
  ],
  ['<pre>a<br>b\n```\n</pre>', '````\na\nb\n```\n````\n'],
  ['<ol start=9><li>a<li>b<ul><li>c</ul></ol>', '9. a\n10. b\n    - c\n'],
  ['<ul><li><p>a<p>b<li><pre>c\n\nd</pre></ul>e', '- a\n\n  b\n- ```\n  c\n\n  d\n  ```\n\ne\n'],
  ['<dl><dt>term<dd>one<dd>two<dt>other</dl>x', '- term\n\n  one\n\n  two\n- other\n\nx\n'],
  ['<blockquote><p>a<p>b<ul><li>c</ul></blockquote>d', '> a\n>\n> b\n>\n> - c\n\nd\n'],
  ['a<hr>b', 'a\n\n---\n\nb\n'],
  [
    '<table><caption>C</caption><tr><th>a|b<th>c<tr><td>1<br>2<td><ul><li>x<li>y</ul><tr><td colspan=2>z</table>e',
    'C\n\n| a\\|b | c |\n| --- | --- |\n| 1<br>2 | x<br>y |\n| z |  |\n\ne\n',
  ],
  ['<table><tr><td>no head</table>', '|  |\n| --- |\n| no head |\n'],
  ['<table><tr><td><pre>1\n2</pre><td><pre>a\nb</pre></table>', '```\n1\n2\n```\n\n```\na\nb\n```\n'],
  ['&amp;lt; &lt;<code></code>script&gt; &am<b></b>p; &copy;', '\\&lt; \\<script> \\&amp; ©\n'],
  ['<p>a <svg><path></path><text>no</text></svg>b<script>no</script>c', 'a bc\n'],
  ['a<nav>no</nav>b', 'a\n\nb\n'],
  ['<script>no</script><style>no</style><form>no<textarea>no</textarea></form>yes', 'yes\n'],
  ['<h2>C# {#evil}</h2><h2>C#</h2>', '## C# {#evil\\}\n\n## C\\#\n'],
])('page %j is %j', (html, markdown) => {
  expect(toMarkdown(html)).toEqual({ markdown, isCut: false })
})

/** Text that would mean something in Markdown or HTML if it were not escaped. */
const nasty = fc
  .array(
    fc.constantFrom(
      ...'# ## * ** - -- --- + _ __ ` ``` ~ ~~~ > < </b> <b> <!-- [ ] [x] [x](y) ! ![x](y) ( ) \\ \\* | | --- | : :-- = === 1. 1) &amp; &lt; &#42; & ; {#x} a b word é'.split(
        ' ',
      ),
      ' ',
      ' ',
      '\n',
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.join(''))

const words = (text: string): string => text.replace(/\s+/g, ' ').trim()
const PLACES: Readonly<Record<string, (text: string) => string>> = {
  paragraph: (text) => `<p>${text}</p>`,
  'after a paragraph': (text) => `<p>p</p><p>${text}</p>`,
  'after a break': (text) => `<p>p<br>${text}<br>${text}</p>`,
  item: (text) => `<ul><li>${text}</li><li>${text}</li></ul>`,
  quote: (text) => `<blockquote>${text}</blockquote>`,
  cell: (text) => `<table><tr><th>${text}</th></tr><tr><td>${text}</td></tr></table>`,
  heading: (text) => `<h2>${text}</h2>`,
  link: (text) => `<p><a href="x">a${text}b</a></p>`,
  'next to formats': (text) => `<p>${text}<code>c</code>${text}<b>w</b>${text}</p>`,
}
/** Types of nodes that the places have besides text. */
const EXPECTED = new Set(
  'Document Paragraph Str Break List ListItem BlockQuote Table TableRow TableCell Header Link Code Strong'.split(
    ' ',
  ),
)

test.each(Object.entries(PLACES))('text that looks like Markdown remains text: %s', (place, put) => {
  fc.assert(
    fc.property(nasty, (text) => {
      const html = put(escapeMarkup(text))
      const { markdown } = toMarkdown(html)
      const nodes = nodesIn(parseMarkdown(markdown))
      expect([markdown, nodes.filter(({ type }) => !EXPECTED.has(type))]).toEqual([markdown, []])
      const count = (type: string): number => nodes.filter((node) => node.type === type).length
      const hasText = words(text) !== ''
      expect([markdown, count('Link'), count('Code')]).toEqual([
        markdown,
        place === 'link' ? 1 : 0,
        place === 'next to formats' ? 1 : 0,
      ])
      if (place === 'quote' || place === 'item') return
      if (hasText) expect(count('Header')).toBe(place === 'heading' ? 1 : 0)
      // Emphasis next to punctuation may remain as text.
      if (place === 'next to formats') return
      const shown = words(nodes.map(({ type, value = '' }) => (type === 'Break' ? ' ' : value)).join(''))
      expect([markdown, shown.replaceAll(' ', '')]).toEqual([
        markdown,
        words(readPageText(html).text).replaceAll(' ', ''),
      ])
    }),
  )
})

test('a code block and a code span have exactly their text', () => {
  const code = fc
    .array(fc.constantFrom('`', '``', '```', '\n', ' ', '~~~', '<b>', '&lt;', '*', 'x', '#'), {
      maxLength: 15,
    })
    .map((parts) => `x${parts.join('')}x`)
  fc.assert(
    fc.property(code, (text) => {
      const block = nodesIn(parseMarkdown(toMarkdown(`<pre>${escapeMarkup(text)}</pre>`).markdown))
      expect(block.find(({ type }) => type === 'CodeBlock')?.value).toBe(text)
      const span = nodesIn(parseMarkdown(toMarkdown(`<p><code>${escapeMarkup(text)}</code>`).markdown))
      expect(span.find(({ type }) => type === 'Code')?.value).toBe(words(text))
    }),
  )
})

test('a link runs nothing, however its address is written', () => {
  const address = fc
    .array(
      fc.constantFrom(
        'java',
        'script:',
        'JAVASCRIPT:',
        'data:',
        'vbscript:',
        'http:',
        'https://h/',
        'mailto:',
        '//',
        '/',
        '#',

        '&#10;',
        '&Tab;',
        '&#1;',
        ' ',
        'x',
        '(',
        ')',
        '<',
        '\\',
        '&colon;',
        '?',
        '&amp;colon;',
        '%0a',
        '"',
      ),
      { minLength: 1, maxLength: 6 },
    )
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(address, fc.option(address, { nil: undefined }), (to, base) => {
      const quoted = (value: string): string => value.replaceAll('"', '&quot;').replaceAll('<', '&lt;')
      const html = `${base === undefined ? '' : `<base href="${quoted(base)}">`}<p><a href="${quoted(to)}">l</a> <img src="${quoted(to)}" alt="i">`
      const { markdown } = toMarkdown(html)
      for (const { type, url } of nodesIn(parseMarkdown(markdown))) {
        expect([html, type]).not.toEqual([html, 'Html'])
        if (url === undefined || !URL.canParse(url, 'https://docs.example/a/')) continue
        const { protocol } = new URL(url, 'https://docs.example/a/')
        expect([html, ['http:', 'https:', 'mailto:'].includes(protocol)]).toEqual([html, true])
      }
    }),
    { numRuns: rounds(200, 1_000) },
  )
})

interface Tree {
  readonly is: 'p' | 'ul' | 'ol' | 'quote' | 'pre'
  readonly inside: readonly Tree[]
}

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<Tree>({ is: 'p', inside: [] }, { is: 'pre', inside: [] }),
    fc.record({
      is: fc.constantFrom('ul', 'ol', 'quote' as const),
      inside: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
    }),
  ),
}))

/** Returns the HTML of a tree; each list has one item for each tree inside, which begins with a paragraph. */
function htmlOf({ is, inside }: Tree): string {
  if (is === 'p') return '<p>w</p>'
  if (is === 'pre') return '<pre>c\n\nd</pre>'
  if (is === 'quote') return `<blockquote>${inside.map(htmlOf).join('')}</blockquote>`
  return `<${is}>${inside.map((each) => `<li>w${htmlOf(each)}</li>`).join('')}</${is}>`
}

const NAMES: Readonly<Record<string, Tree['is']>> = { Paragraph: 'p', CodeBlock: 'pre', BlockQuote: 'quote' }

function treeOf(node: MarkdownNode): Tree {
  const { type, ordered, children = [] } = node
  const name = type === 'List' ? (ordered === true ? 'ol' : 'ul') : NAMES[type]
  if (name === undefined) throw new Error(`unexpected ${type}`)
  if (name === 'p' || name === 'pre') return { is: name, inside: [] }
  if (name === 'quote') return { is: name, inside: children.map(treeOf) }
  return {
    is: name,
    inside: children.map(({ children: [first, ...rest] = [] }) => {
      expect([first?.type, textIn(first ?? node)]).toEqual(['Paragraph', 'w'])
      expect(rest).toHaveLength(1)
      return treeOf(rest[0] ?? node)
    }),
  }
}

/** Whether two lists of one kind follow each other in a tree: Markdown has one list then. */
function hasAdjacentLists(trees: readonly Tree[]): boolean {
  return trees.some(
    ({ is, inside }, at) =>
      ((is === 'ul' || is === 'ol') && trees[at + 1]?.is === is) ||
      (is === 'quote' && hasAdjacentLists(inside)),
  )
}

function hasAny(trees: readonly Tree[], fits: (trees: readonly Tree[]) => boolean): boolean {
  return fits(trees) || trees.some(({ inside }) => hasAny(inside, fits))
}

test('nested blocks remain nested', () => {
  fc.assert(
    fc.property(fc.array(tree, { minLength: 1, maxLength: 3 }), (trees) => {
      fc.pre(!hasAny(trees, hasAdjacentLists))
      const { markdown } = toMarkdown(trees.map(htmlOf).join(''))
      expect([markdown, (parseMarkdown(markdown).children ?? []).map(treeOf)]).toEqual([markdown, trees])
    }),
    { numRuns: rounds(100, 500) },
  )
})

test.each([
  ['<main>in<nav>menu</nav>side</main>out'],
  ['<div role=main>a</div>b<article>c</article>'],
  ['<div role=dialog>keys</div><p>words<form>x</form>'],
  ['<main></main>only outside'],
  ['<main><nav>x</nav></main><p>only outside'],
  ['<aside><main>hidden</main></aside>shown'],
])('the content of %j is that of the search', (html) => {
  expect(words(toMarkdown(html).markdown)).toBe(readPageText(html).text)
})

const MANY = 300_000
test.each([
  ['nested elements', '<div>'.repeat(MANY)],
  ['nested lists', '<ul><li>x'.repeat(MANY)],
  ['nested quotes', '<blockquote>x'.repeat(MANY)],
  ['nested tables', '<table><tr><td>x'.repeat(MANY)],
  ['nested formats', '<b><i><code><a href=x>x'.repeat(MANY)],
  ['wide cells', `<table>${'<tr><td colspan=100>x'.repeat(MANY)}`],
  ['long text', 'word '.repeat(MANY * 3)],
  ['long code', `<pre>${'a\n'.repeat(MANY * 5)}`],
  ['code lines in quotes', `${'<blockquote>'.repeat(20)}<pre>${'a\n'.repeat(MANY)}`],
  ['images', `<img src="${'x'.repeat(1_000)}">`.repeat(5_000)],
  ['unmatched ends', `${'<i>'.repeat(400)}${'</x>'.repeat(MANY)}`],
  ['links after exclamation marks', '!<a href=x>y</a>'.repeat(MANY)],
  ['rules', '<hr>'.repeat(MANY * 3)],
])('Markdown of %s is bounded', { tags: ['long'] }, (_name, html) => {
  const { markdown, isCut } = toMarkdown(html)
  expect(markdown.length).toBeLessThan(2_001_000)
  if (isCut) expect(markdown).toMatch(/\*The rest of this page is left out\.\*\n$/)
})

test('a page that ends anywhere is converted', () => {
  const html =
    '<title>T</title><main><h1 id=x>H</h1><ul><li><table><tr><td><pre>a<b>&amp;</b></pre></table></ul></main>'
  for (let end = 0; end <= html.length; end++) expect(toMarkdown(html.slice(0, end)).isCut).toBe(false)
})
