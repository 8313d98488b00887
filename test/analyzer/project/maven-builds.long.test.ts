import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { expect, test } from 'vitest'
import { queries } from '../../../src/analyzer/api/queries.ts'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { mavenProject, mavenUser } from '../../support/analyzer/maven-project.ts'

const { root, folder, mvn } = mavenProject()

test('modes auto and jar resolve what they can', { timeout: 600_000 }, async () => {
  const user = mavenUser()
  const statsIn = async (mode: string) => {
    await user.json('start', '-p', root, '--mode', mode)
    const stats = await user.json<any>('classes', 'stats', '-p', root)
    await user.analyzer('stop', '-p', root)
    return stats
  }
  const auto = await statsIn('auto')
  expect(auto).toMatchObject({ projectClassCount: 18, classpathResolvedBy: 'maven' })
  expect(auto.libraryClassCount).toBeGreaterThan(4_000)
  // The libraries are in Maven's repository, not in the project.
  expect(await statsIn('jar')).toMatchObject({
    projectClassCount: 18,
    libraryClassCount: 0,
    classpathResolvedBy: 'jar',
  })
})

test('diff reports what a change of a module’s API breaks', { timeout: 600_000 }, async () => {
  const user = mavenUser()
  const before = join(folder, 'model-before.jar')
  const after = join(root, 'model/target/shop-model-1.0.jar')
  cpSync(after, before)
  const source = join(root, 'model/src/main/java/shop/model/Item.java')
  const text = readFileSync(source, 'utf8')
  execFileSync('sed', ['-i', 's/public boolean isFree()/public boolean isGift()/', source])
  expect(readFileSync(source, 'utf8')).not.toBe(text)
  execFileSync('sed', [
    '-i',
    's/item\\.isFree/item.isGift/',
    join(root, 'model/src/main/java/shop/model/Order.java'),
  ])
  mvn('package', '--projects', 'model')

  const { status, stdout } = await user.analyzer('diff', before, after, '--fail-on', 'incompatible', '--json')
  expect(status).toBe(1)
  const { changes, incompatibleCount } = JSON.parse(stdout)
  expect(incompatibleCount).toBe(1)
  expect(changes.map(({ classFqn, member, compatible }: any) => ({ classFqn, member, compatible }))).toEqual([
    { classFqn: 'shop.model.Item', member: 'isFree()', compatible: false },
    { classFqn: 'shop.model.Item', member: 'isGift()', compatible: true },
  ])

  const { stdout: said } = await user.analyzer('diff', before, after, '--table')
  expect(said).toContain('isFree')
})

test('an agent lists all tools, and calls one', { timeout: 600_000 }, async () => {
  const user = mavenUser()
  const agent = new Client({ name: 'test', version: '1' })
  await agent.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [join(packageRoot, 'src/bin/analyzer.ts'), 'mcp', '-p', root],
      env: user.environment as Record<string, string>,
      stderr: 'inherit',
    }),
  )
  const { tools } = await agent.listTools()
  const names = tools.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining([...queries.map(([name]) => name), 'explore', 'refresh']))
  // The client's own limit is a minute, and Maven is asked first.
  const limits = { timeout: 300_000 }
  const { content } = await agent.callTool(
    { name: 'callers', arguments: { method: 'shop.model.Order#pay' } },
    undefined,
    limits,
  )
  expect(content).toEqual([{ type: 'text', text: expect.stringMatching(/^totalCount: 3$/mu) }])
  await agent.close()
})
