import type { Reporter, TestModule, TestSuite } from 'vitest/node'

/** Prints a table of clients and the cases that each passed; a client is a `describe` block, named with its version. */
export default class TableReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules.flatMap((module) => [...module.children.suites()].map(rowOf)).toSorted()
    console.log(['', '| Client | Passed | Cases |', '| --- | --- | --- |', ...rows, ''].join('\n'))
  }
}

function rowOf(client: TestSuite): string {
  const cases = [...client.children.allTests()]
  const passed = cases.filter((each) => each.result().state === 'passed')
  const failed = cases
    .filter((each) => each.result().state === 'failed')
    .map(({ name }) => `**${name} failed**`)
  const named = [...failed, ...passed.map(({ name }) => name)]
  return `| ${client.name} | ${passed.length} of ${cases.length} | ${named.join(', ')} |`
}
