/** Above the ranges assigned by systemd and user-namespace tools. Source: systemd's UIDS-GIDS.md. */
const FIRST_USER = 1_900_000_000
const USERS = 2 ** 24

/** Returns the UID and GID for a VM's monitor, which nothing else on this host uses. */
export function machineUser(id: string): number {
  return FIRST_USER + (Number.parseInt(id, 16) % USERS)
}
