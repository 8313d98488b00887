import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { ExecProcess, ExecRequest, LoginEnvironment } from '../../../../src/workspace/backend/backend.ts'
import { FakeBackend } from './fake-backend.ts'

/** A workspace whose only programs are BusyBox's. */
export class BusyBoxBackend extends FakeBackend {
  /** Without the name of the workspace's directory, which the fake replaces. */
  readonly #programs = mkdtempSync(join(tmpdir(), 'busybox-'))

  constructor() {
    super()
    execFileSync('busybox', ['--install', '-s', this.#programs])
  }

  override exec(
    name: string,
    { argv: [program = '', ...argv], ...request }: ExecRequest,
  ): Promise<ExecProcess> {
    return super.exec(name, {
      ...request,
      argv: [join(this.#programs, basename(program)), ...argv],
      environment: { ...request.environment, PATH: this.#programs },
    })
  }

  override async close(): Promise<void> {
    await super.close()
    rmSync(this.#programs, { recursive: true })
  }

  override async loginEnvironment(name: string): Promise<LoginEnvironment> {
    return { ...(await super.loginEnvironment(name)), shell: '/bin/sh' }
  }
}
