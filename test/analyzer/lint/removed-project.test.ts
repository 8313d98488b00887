import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sample } from '../../support/rounds.ts'
import { styleProject } from '../../support/analyzer/style-project.ts'

const ROUTES = [
  ['/lint/file', { filePath: 'A.java' }],
  ['/format/file', { filePath: 'A.java' }],
  ['/lint/project', {}],
  ['/format/project', {}],
] as const

test.each(sample(ROUTES, 4))(
  '%s of a project whose folder was deleted is refused by name',
  async (path, body) => {
    const { root, ask } = await styleProject({ 'A.java': 'class A {}\n' })
    rmSync(root, { recursive: true })
    expect(await ask(path, body)).toMatchObject({
      status: 404,
      body: { message: expect.stringContaining(root) },
    })
  },
)
