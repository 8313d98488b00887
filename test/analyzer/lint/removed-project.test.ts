import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { styleProject } from '../../support/analyzer/style-project.ts'

test.each([
  ['/lint/file', { filePath: 'A.java' }],
  ['/format/file', { filePath: 'A.java' }],
  ['/lint/project', {}],
  ['/format/project', {}],
])('%s of a project whose folder was deleted is refused by name', async (path, body) => {
  const { root, ask } = await styleProject({ 'A.java': 'class A {}\n' })
  rmSync(root, { recursive: true })
  expect(await ask(path, body)).toMatchObject({
    status: 404,
    body: { message: expect.stringContaining(root) },
  })
})
