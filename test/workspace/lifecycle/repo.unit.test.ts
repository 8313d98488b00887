import { describe, expect, test } from 'vitest'
import { parseRepo } from '../../../src/workspace/lifecycle/repo.ts'
import { BAD_REPOS, GOOD_REPOS, SECRET_REPOS } from '../../contract/repos.ts'

describe('parseRepo', () => {
  test.each(GOOD_REPOS)('W3 accepts %j', (text, url) => {
    expect(parseRepo(text)).toEqual({ url })
  })

  test.each(SECRET_REPOS)('W3 keeps the password of %j out of the URL', (text, url, credentials) => {
    expect(parseRepo(text)).toEqual({ url, credentials })
  })

  test.each(BAD_REPOS)('W3 refuses %j', (text) => {
    expect(() => parseRepo(text)).toThrow(expect.objectContaining({ code: 'INVALID_REPO_URL' }))
  })

  test('W3 an error shows no password', () => {
    expect(() => parseRepo('https://user:hunter2@host/a?b')).toThrow(/^(?!.*hunter2)/)
  })
})
