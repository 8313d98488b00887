import { DomUtils, parseDocument } from 'htmlparser2'
import { expect, test } from 'vitest'
import { homePage } from '../../../../../src/content/faces/http/pages/home-page.ts'
import type { Repo } from '../../../../../src/content/repo/meta.ts'

const REPOS: readonly Repo[] = [
  { name: 'plain' },
  { name: 'linked', url: 'https://git.example/linked', lastPublished: '2026-01-02T03:04:05Z' },
  {
    name: 'named',
    description: 'Größe ＡＰＩ & <more>',
    repo: 'owner/named',
    url: 'https://git.example/named',
  },
  {
    name: 'versioned',
    description: '使用数据库',
    repo: 'owner/versioned',
    versions: ['1.0.0', '2.0.0', 'preview'],
    latest: '2.0.0',
    aliases: new Map([['stable', '1.0.0']]),
    expires: new Map([['preview', Date.UTC(2100, 0, 2)]]),
  },
]

function cardsOf(words: string) {
  const query = { words, limit: 20, offset: 0 }
  const found = { hits: [], total: 0, unsearched: [] }
  const page = parseDocument(homePage({ title: 'Docs', user: '', repos: REPOS, query, found }))
  return DomUtils.getElementsByClassName('card', page).map((card) => ({
    text: DomUtils.textContent(card),
    isShown: card.attribs['hidden'] === undefined,
  }))
}

test('a repository is shown for each word of its entry, which the script of the page searches', () => {
  for (const [number, { text }] of cardsOf('').entries())
    for (const word of text.trim().split(/\s+/))
      expect([word, cardsOf(word)[number]?.isShown]).toEqual([word, true])
})

test('a repository is shown for words of its entry as people type them', () => {
  const shown = (words: string) => cardsOf(words).map(({ isShown }) => isShown)
  expect(shown('grosse api')).toEqual([false, false, true, false])
  expect(shown('数据 stable')).toEqual([false, false, false, true])
})
