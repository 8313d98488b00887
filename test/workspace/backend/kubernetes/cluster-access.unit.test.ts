import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterAccess } from '../../../../src/workspace/backend/kubernetes/api/cluster-access.ts'
import { tempDir } from '../../../support/temp-dir.ts'

function kubeconfig(user: string, cluster = "server: 'https://10.0.0.1:6443/'"): string {
  const file = join(tempDir(), 'config')
  writeFileSync(
    file,
    `current-context: here
contexts: [{name: other, context: {cluster: none, user: none}}, {name: here, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {${cluster}}}]
users: [{name: u, user: {${user}}}]`,
  )
  return file
}

test('a kubeconfig’s certificates are read from it or from files next to it', async () => {
  const file = kubeconfig(
    `client-certificate-data: ${Buffer.from('CERTIFICATE').toString('base64')}, client-key: ./key.pem`,
    `server: 'https://10.0.0.1:6443/', certificate-authority-data: ${Buffer.from('CA').toString('base64')}`,
  )
  writeFileSync(join(file, '../key.pem'), 'KEY')
  expect(await clusterAccess(file)).toEqual({
    url: 'https://10.0.0.1:6443',
    ca: 'CA',
    certificate: 'CERTIFICATE',
    key: 'KEY',
  })
})

test('a token file is read for every request, because the cluster replaces it', async () => {
  const file = kubeconfig('tokenFile: token')
  const { token } = await clusterAccess(file)
  writeFileSync(join(file, '../token'), 'first\n')
  expect(await token?.()).toBe('first')
  writeFileSync(join(file, '../token'), 'second\n')
  expect(await token?.()).toBe('second')
})

test.each([
  ['a login program', () => kubeconfig('exec: {command: login}'), 'needs a program to log in'],
  ['a missing cluster', () => kubeconfig('token: x', 'insecure: true'), "required property 'server'"],
  ['a missing file', () => '/nonexistent/config', 'ENOENT'],
])('%s is reported with the file', async (_, file, message) => {
  await expect(clusterAccess(file())).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: expect.stringContaining(message),
  })
})
