import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'

const folder = join(packageRoot, '.node/cloud/bin')

/** Python with boto3. */
export const cloudPython = join(folder, 'python')
/** The AWS CLI. */
export const awsCli = join(folder, 'aws')

/** Starts moto, a simulator of AWS, on a free port of 127.0.0.1. */
export async function startMoto() {
  const program = join(folder, 'moto_server')
  if (!existsSync(program)) throw new Error(`${program} is missing: run scripts/cloud-tools`)
  const child = spawn(cloudPython, [program, '-H', '127.0.0.1', '-p', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let log = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(log) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error(`moto ended: ${log}`)))
  })
  return {
    url,
    /** Returns the number of STS requests it has answered. */
    stsCalls: () => log.split('"POST / HTTP').length - 1,
    async makeBucket(name: string) {
      // The part of the signature that it examines.
      const authorization =
        'AWS4-HMAC-SHA256 Credential=AKIDTEST/20261121/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0'
      const { status } = await fetch(`${url}/${name}`, { method: 'PUT', headers: { authorization } })
      if (status !== 200) throw new Error(`moto made no bucket: ${status}`)
    },
    stop: () => void child.kill('SIGKILL'),
  }
}
