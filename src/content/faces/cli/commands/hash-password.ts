import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { fault } from '../../../errors.ts'
import { hashPassword } from '../../../login/password.ts'
import { examples } from '../../../../lib/cli/examples.ts'

/** Adds the command hash-password. */
export function addHashPassword(program: Command): void {
  program
    .command('hash-password')
    .description('print the hash of a password, from a prompt or the first line of standard input')
    .addHelpText('after', examples('printf \'%s\\n\' "$PASSWORD" | content-server hash-password'))
    .action(async () => {
      const password = process.stdin.isTTY ? await askTwice() : await firstLine()
      if (password === '') throw fault('PASSWORD_INVALID', 'the password is empty')
      process.stdout.write(`${await hashPassword(password)}\n`)
    })
}

async function askTwice(): Promise<string> {
  const password = await ask('Password: ')
  if ((await ask('Repeat the password: ')) === password) return password
  throw fault('PASSWORD_INVALID', 'the two passwords differ; try again')
}

/** Prompts without echo, on standard error because the hash may go to a file or a pipe. */
async function ask(question: string): Promise<string> {
  process.stderr.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    return await new Promise((resolve, reject) => {
      reader.once('SIGINT', () => reject(fault('PASSWORD_INVALID', 'interrupted')))
      reader.once('close', () => resolve(''))
      void reader.question('').then(resolve)
    })
  } finally {
    reader.close()
    process.stderr.write('\n')
  }
}

async function firstLine(): Promise<string> {
  const reader = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })
  try {
    for await (const line of reader) return line
    return ''
  } finally {
    reader.close()
    process.stdin.destroy()
  }
}
