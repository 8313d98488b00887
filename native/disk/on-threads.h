#pragma once

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace workspace::disk {

/**
 * Does the same work on several threads, the caller's among them, and returns when all have ended.
 *
 * @param count 0 means as many as the machine has processors, at most 4
 */
template <typename Work>
void onThreads(unsigned count, const Work& work) {
  // Beyond four the directory-entry cache's locks eat the gain.
  if (count == 0) count = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  std::vector<std::thread> helpers;
  try {
    for (unsigned i = 1; i < count; i++) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // The machine gives no more threads; those there are do the work.
  }
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace workspace::disk
