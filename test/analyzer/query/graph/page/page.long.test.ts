import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { renderHtml } from '../../../../../src/analyzer/query/graph/graph-html.ts'
import type { graphView } from '../../../../../src/analyzer/query/graph/graph.ts'
import { analyzerUser } from '../../../../support/analyzer/analyzer-cli.ts'
import { expectAccessible } from '../../../../support/browser/accessible.ts'
import { openPage } from '../../../../support/browser/chromium.ts'
import { keepScreenshot } from '../../../../support/browser/keep-screenshot.ts'
import { corpusJar } from '../../../../support/analyzer/corpora.ts'
import { tempDir } from '../../../../support/temp-dir.ts'

/** Guava's 2,000 classes as a project, drawn by the command line. */
async function drawnGuava() {
  const user = analyzerUser({ ANALYZER_SERVER__MODE: 'jar' })
  const root = tempDir()
  writeFileSync(join(root, 'pom.xml'), '<project/>')
  mkdirSync(join(root, 'target/classes'), { recursive: true })
  execFileSync('jar', ['xf', corpusJar('guava-')], { cwd: join(root, 'target/classes') })
  await user.json('start', '-p', root)
  const file = join(tempDir(), 'graph.html')
  expect((await user.analyzer('deps', '-p', root, '--format', 'html', '--output', file)).status).toBe(0)
  const graph = await user.json<ReturnType<typeof graphView>>('deps', '-p', root)
  return { file, graph }
}

test('the page draws a library of 2,000 classes', { timeout: 300_000 }, async () => {
  const { file, graph } = await drawnGuava()
  expect(graph.nodeCount).toBeGreaterThan(1_700)
  const page = await openPage(pathToFileURL(file).href)
  const count = (selector: string) =>
    page.evaluate<number>(`document.querySelectorAll(${JSON.stringify(selector)}).length`)
  const text = (selector: string) =>
    page.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).textContent`)
  const packages = new Set(graph.nodes.map(({ packageName }) => packageName))
  await keepScreenshot('analyzer-folded', page)

  // Folded: a box for each package, and edges between them.
  expect(await text('#counts')).toBe(
    `${graph.nodeCount.toLocaleString('en')} classes, ${packages.size} packages`,
  )
  expect(await count('.package')).toBe(packages.size)
  expect(await count('.class')).toBe(0)
  // Names cut off within the common prefix of packages would be indistinguishable.
  const cut = `[...document.querySelectorAll('.package')].filter((each) => each.scrollWidth > each.clientWidth).length`
  expect(await page.evaluate(cut)).toBe(0)
  const foldedEdges = await count('#edges path')
  expect(foldedEdges).toBeGreaterThan(packages.size / 2)

  // Found by the keyboard alone: its package opens, and its dependencies are those of the graph.
  const wanted = 'com.google.common.collect.ImmutableList'
  await page.press('/')
  await page.type('immutablelist')
  expect(await text('#found li:first-child')).toBe(wanted)
  await page.press('ArrowDown', 'Enter')
  expect(await text('#chosen')).toBe('ImmutableList')
  const of = (one: 'source' | 'target', other: 'source' | 'target') =>
    graph.edges
      .filter((edge) => edge[one] === wanted)
      .map((edge) => `${edge.type} ${edge[other]}`)
      .toSorted()
  const listed = (id: string) =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll('#${id} button')].map((b) => b.title + ' ' + b.textContent).sort()`,
    )
  expect(await listed('out')).toEqual(of('source', 'target'))
  expect(await listed('in')).toEqual(of('target', 'source'))
  expect(await text('[aria-current=true]')).toBe('ImmutableList')
  expect(await count('.class')).toBe(
    graph.nodes.filter(({ packageName }) => packageName === dirnameOf(wanted)).length,
  )
  expect(await count('#edges path.on')).toBeGreaterThan(10)
  await keepScreenshot('analyzer-chosen', page)
  await expectAccessible(page, 'a graph with a chosen class')

  // A type that is switched off is drawn and listed no more.
  await page.click('#types input[value=TYPE_REFERENCE]')
  expect((await listed('out')).some((each) => each.startsWith('TYPE_REFERENCE'))).toBe(false)
  await page.click('#types input[value=TYPE_REFERENCE]')

  // The keyboard folds what it comes to, and Escape lets go.
  await page.evaluate(`document.querySelector('[aria-expanded=true]').focus()`)
  await page.press('Enter')
  expect(await count('.class')).toBe(0)
  await page.press('Escape')
  expect(await count('[aria-current=true]')).toBe(0)

  await page.click('#open-all')
  // Edges lie over the frames of packages and below what can be clicked.
  expect(
    await page.evaluate(`[...document.getElementById('canvas').children].map(({ id }) => id).join()`),
  ).toBe('frames,edges,boxes')
  expect(await count('.class')).toBe(graph.nodeCount)
  await keepScreenshot('analyzer-open', page)
  await page.click('#fold-all')

  await page.setDark(true)
  const ink = await page.evaluate<string>(`getComputedStyle(document.body).color`)
  expect(ink).toBe('rgb(228, 232, 238)')
  await keepScreenshot('analyzer-dark', page)
  // No error, and nothing that its own policy refused.
  expect(page.complaints).toEqual([])
})

function dirnameOf(fqn: string): string {
  return dirname(fqn.replaceAll('.', '/')).replaceAll('/', '.')
}

test('untrusted names have no effect', async () => {
  const evil = '</script><script>document.title="taken"</script><img src=x onerror=alert(1)>'
  const node = (fqn: string, simpleName: string) => ({
    fqn,
    simpleName,
    packageName: '',
    inDegree: 0,
    outDegree: 0,
  })
  const names = [evil, '$&', '{{graph}}', '<!-- script -->', '__proto__']
  const file = join(tempDir(), 'graph.html')
  const edges = [{ source: evil, target: '$&', type: 'EXTENDS' }]
  writeFileSync(
    file,
    renderHtml({ nodes: names.map((name) => node(name, name)), edges, nodeCount: 5, edgeCount: 1 }),
  )
  const page = await openPage(pathToFileURL(file).href)
  await page.click('#open-all')
  const shown = await page.evaluate<string[]>(
    `[...document.querySelectorAll('.class')].map((each) => each.textContent)`,
  )
  expect(shown).toEqual(names)
  await page.click('.class')
  expect(
    await page.evaluate<string[]>(
      `[...document.querySelectorAll('#out button')].map((each) => each.textContent)`,
    ),
  ).toEqual(['$&'])
  expect(await page.evaluate('document.title')).toBe('Dependencies')
  expect(await page.evaluate('document.images.length')).toBe(0)
  expect(page.complaints).toEqual([])
})
