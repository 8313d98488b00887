#pragma once

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace workspace::disk {

/**
 * Runs the same work on several threads, including the caller's, and returns when all have finished.
 *
 * @param count 0 means the number of processors, at most 4
 */
template <typename Work>
void onThreads(unsigned count, const Work& work) {
  // Beyond four, contention on the kernel's directory entry cache outweighs the gain.
  if (count == 0) count = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  std::vector<std::thread> helpers;
  try {
    for (unsigned i = 1; i < count; i++) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads are available; the existing ones do the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace workspace::disk
