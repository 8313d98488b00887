import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadContentConfig } from '../../src/content/config.ts'
import { loadSupervisorConfig } from '../../src/supervisor/index.ts'
import { loadWorkspaceConfig } from '../../src/workspace/config.ts'
import { Reference } from '../support/check/reference.ts'
import { tempDir } from '../support/temp-dir.ts'

type Load = (environment: Readonly<Record<string, string>>, given: { readonly file: string }) => unknown

describe.each<[program: string, load: Load]>([
  ['supervisor', loadSupervisorConfig],
  ['content-server', loadContentConfig],
  ['workspace', loadWorkspaceConfig],
])('each configuration in docs/%s is accepted', (program, load) => {
  const { text } = new Reference(program)
  const examples = [...text.matchAll(/^```yaml\n([^]*?)^```/gm)].map(([, example = '']) => example)

  test('the reference has examples', () => expect(examples.length).toBeGreaterThan(0))

  test.each(examples)('%#', (example) => {
    const dir = tempDir()
    const file = join(dir, 'config.yaml')
    // The page abbreviates a hash.
    writeFileSync(file, example.replace('r=8,p=1$...', `r=8,p=1$${'a'.repeat(22)}$${'b'.repeat(43)}`))
    expect(load({ HOME: dir }, { file })).toBeDefined()
  })
})
