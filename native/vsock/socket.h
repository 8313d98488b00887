#pragma once

namespace workspace::vsock {

/** Listens on a vsock port of this machine, for every peer. Returns the descriptor or the negative errno. */
int listen(unsigned int port);

/**
 * Waits for the next connection, and sets its peer. Returns its descriptor, or the negative errno: EINVAL once `stop`
 * was called.
 */
int accept(int listener, unsigned int& peer);

/** Makes a waiting `accept` return; the descriptor stays open. */
void stop(int listener);

/** Connects to a port of a peer; 2 is the host. Returns the descriptor or the negative errno. */
int connect(unsigned int cid, unsigned int port, int timeoutMs);

}  // namespace workspace::vsock
