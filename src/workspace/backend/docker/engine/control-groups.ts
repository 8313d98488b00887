/** Directory of control groups. */
export const CONTROL_GROUPS = '/sys/fs/cgroup'

/** Returns the possible paths of a container's control group below a controller: Docker's two drivers, then Podman's. */
export function controlGroupsOf(containerId: string): readonly string[] {
  return [
    `docker/${containerId}`,
    `system.slice/docker-${containerId}.scope`,
    `machine.slice/libpod-${containerId}.scope`,
    `libpod_parent/libpod-${containerId}`,
  ]
}
