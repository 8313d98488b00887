import { expect, test } from 'vitest'
import { Fault } from '../../../../src/lib/errors/fault.ts'
import { forEachName } from '../../../../src/workspace/faces/cli/each-name.ts'

const act = (name: string): Promise<string> =>
  name.startsWith('bad')
    ? Promise.reject(new Fault(`CODE_${name}`, 'missing', `${name} is absent`))
    : Promise.resolve(name)

test.each([
  [['a', 'b', 'a'], ['a', 'b'], undefined],
  [['a', 'bad1'], ['a'], { code: 'CODE_bad1', message: 'bad1 is absent' }],
  [['bad1', 'a', 'bad2'], ['a'], { code: 'CODE_bad1', message: 'bad1 is absent\nbad2 is absent' }],
  [['bad1'], undefined, { code: 'CODE_bad1', message: 'bad1 is absent' }],
])('an action for %j shows what succeeded, and then what failed', async (names, done, failure) => {
  let shown: readonly string[] | undefined
  const running = forEachName(names, act, (each) => (shown = each))
  if (failure === undefined) await running
  else await expect(running).rejects.toMatchObject(failure)
  expect(shown).toEqual(done)
})
