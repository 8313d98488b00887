#pragma once

#include <string>

namespace workspace::init {

/** The two disks of a VM, as paths below /dev. */
struct Disks {
  std::string lower;
  std::string upper;
};

/**
 * Waits for the two virtio disks. The first is the lower one and read-only, the second the upper one; if a kernel
 * names them in the opposite order, the read-only one is the lower. Fails the start if they do not appear.
 */
Disks findDisks();

}  // namespace workspace::init
