import { writeFileDurable } from '../../../src/lib/fs/write-durable.ts'

/** Writes a file repeatedly until that fails, and prints the number of each write once it is durable. */
const [path = '', first = '1'] = process.argv.slice(2)
for (let n = Number(first); ; n++) {
  await writeFileDurable(path, `${n}\n`.repeat(1_000))
  process.stdout.write(`${n}\n`)
}
