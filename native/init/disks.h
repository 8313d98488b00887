#pragma once

#include <string>

namespace workspace::init {

/** The two disks of a VM, as paths below /dev. */
struct Disks {
  std::string lower;
  std::string upper;
};

/**
 * Waits for the two virtio disks. The first is the lower one and cannot be written, the second the upper one; should a
 * kernel name them the other way round, the one that cannot be written is the lower. Fails the start when they do not come.
 */
Disks findDisks();

}  // namespace workspace::init
