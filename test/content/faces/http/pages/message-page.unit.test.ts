import { expect, test } from 'vitest'
import { messagePage } from '../../../../../src/content/faces/http/pages/message-page.ts'

test.each([
  ['nothing is published at /repos/a', 'Nothing is published at /repos/a'],
  ['login, again', 'Login, again'],
  ['a@docs.example is not allowed', 'a@docs.example is not allowed'],
  ['ann.lee@docs.example is not allowed', 'ann.lee@docs.example is not allowed'],
  ['eBay does not respond', 'eBay does not respond'],
  ['docs.example does not respond', 'docs.example does not respond'],
  ['/repos/a changes', '/repos/a changes'],
  ['', ''],
])('the message %j is shown as %j', (message, shown) => {
  expect(messagePage('Refused', message)).toContain(`<p>${shown}</p>`)
})
