/** Behind what systemd and the tools for user namespaces give out. Source: systemd's UIDS-GIDS.md. */
const FIRST_USER = 1_900_000_000
const USERS = 2 ** 24

/** Returns the number of the user and of the group that a machine's monitor becomes: nobody else's on this host. */
export function machineUser(id: string): number {
  return FIRST_USER + (Number.parseInt(id, 16) % USERS)
}
