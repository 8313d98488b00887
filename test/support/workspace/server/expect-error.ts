import { expect } from 'vitest'
import type { JsonAnswer } from './test-server.ts'

/** Expects a refusal with a status and a code. */
export function expectError(answer: Pick<JsonAnswer, 'status' | 'body'>, status: number, code: string): void {
  const body = { error: { code, message: expect.any(String) } }
  expect({ status: answer.status, body: answer.body }).toEqual({ status, body })
}
