import { writeFileDurable } from '../../../src/lib/fs/write-durable.ts'

/** Writes a file again and again until that fails, and tells of each time once it is said to last: the lines are its number. */
const [path = '', first = '1'] = process.argv.slice(2)
for (let n = Number(first); ; n++) {
  await writeFileDurable(path, `${n}\n`.repeat(1_000))
  process.stdout.write(`${n}\n`)
}
