#pragma once

namespace workspace::vsock {

/** Listens on a port of this machine's vsock, for every peer. Returns the descriptor or the negative error number. */
int listen(unsigned int port);

/** Waits for the next connection, and tells whose it is. Returns its descriptor, or the negative error number: EINVAL once `stop` was called. */
int accept(int listener, unsigned int& peer);

/** Makes an `accept` that waits return; the descriptor stays open. */
void stop(int listener);

/** Connects to a port of a peer: 2 is the host. Returns the descriptor or the negative error number. */
int connect(unsigned int cid, unsigned int port, int timeoutMs);

}  // namespace workspace::vsock
