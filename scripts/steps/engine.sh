# Step: a running container engine. Without one the server starts without container backend, so this step is optional.

engine_lacks() {
  local status=0
  engine=$(on_node node scripts/engine.mjs find "$base_image") || status=$?
  has_image=$([ "$status" = 0 ] && echo yes || echo no)
  if [ -n "$engine" ]; then return; fi
  if [ -n "${DOCKER_HOST:-}" ]; then lack="container engine: no response from DOCKER_HOST=$DOCKER_HOST"
  else lack="container engine: neither Docker nor Podman responds"; fi
}

engine_make() {
  if [ -n "${DOCKER_HOST:-}" ]; then
    report "$lack: start that engine or unset DOCKER_HOST; continuing without containers"
    return 1
  fi
  if [ "$(id -u)" != 0 ] || ! { command -v dockerd >/dev/null || can_install; }; then
    report "$lack to you: $(engine_advice); continuing without containers"
    return 1
  fi
  command -v dockerd >/dev/null || apt_install docker.io nftables || return 1
  if [ -d /run/systemd/system ]; then
    report "starting Docker (systemctl start docker)"
    quietly systemctl start docker || return 1
  else
    # If no init runs, or policy-rc.d forbids starting services during installation, as in container images.
    report "starting dockerd (log: /var/log/dockerd.log)"
    setsid dockerd >>/var/log/dockerd.log 2>&1 </dev/null &
  fi
  local until=$((SECONDS + 30))
  while [ "$SECONDS" -lt "$until" ]; do
    lack=
    engine_lacks
    [ -n "$lack" ] || return 0
    sleep 0.5
  done
  report "Docker was started but did not respond within 30 s: $(tail -n 1 /var/log/dockerd.log 2>/dev/null); continuing without containers"
  return 1
}

engine_advice() {
  if [ "$(uname -s)" = Darwin ]; then echo "install and start Docker Desktop (https://docs.docker.com/desktop/) or Podman"
  elif [ -S /var/run/docker.sock ]; then echo "start Docker, or give your user access to it (sudo usermod -aG docker $(id -un), then log in again)"
  elif command -v podman >/dev/null; then echo "start Podman's socket (systemctl --user start podman.socket)"
  else echo "install Docker (Debian and Ubuntu: sudo apt-get install docker.io) or Podman"; fi
}
