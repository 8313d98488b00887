import { readFileSync, statfsSync } from 'node:fs'
import { freemem, totalmem, uptime } from 'node:os'
import type { GuestHealth } from '../../src/lib/guest/protocol.ts'

/** Reads this machine's health. Sources: /proc, statfs(2). */
export function readHealth(): GuestHealth {
  const disk = statfsSync('/')
  return {
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    uptimeSeconds: Math.floor(uptime()),
    memoryBytes: totalmem(),
    availableMemoryBytes: freemem(),
    diskBytes: disk.blocks * disk.bsize,
    freeDiskBytes: disk.bavail * disk.bsize,
  }
}
