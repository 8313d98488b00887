#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace workspace::disk {

/**
 * Queue of work that may create more work, shared by several threads; done when no item is waiting or being worked
 * on. The newest item is taken first: a depth-first walk keeps few directories waiting.
 */
template <typename Item>
class WorkQueue {
 public:
  /** Items are taken from the end. */
  explicit WorkQueue(std::vector<Item> first) : waiting_(std::move(first)) {}

  /** Waits for an item. Returns false when everything is done or `stop` was called. */
  bool take(Item& item) {
    std::unique_lock lock(mutex_);
    idle_++;
    changed_.wait(lock, [this] { return stopped_ || !waiting_.empty() || working_ == 0; });
    idle_--;
    if (stopped_ || waiting_.empty()) return false;
    item = std::move(waiting_.back());
    waiting_.pop_back();
    working_++;
    return true;
  }

  /** Finishes a taken item and adds the items that it created; `found` becomes empty. */
  void finish(std::vector<Item>& found) {
    std::size_t wake = 0;
    {
      const std::lock_guard lock(mutex_);
      working_--;
      for (Item& item : found) waiting_.push_back(std::move(item));
      const bool ended = working_ == 0 && waiting_.empty();
      // The calling thread takes one item itself.
      wake = ended ? idle_ : std::min(idle_, found.empty() ? 0 : found.size() - 1);
    }
    found.clear();
    for (; wake > 0; wake--) changed_.notify_one();
  }

  /** Makes every `take` return false. */
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Item> waiting_;
  std::size_t working_ = 0;
  std::size_t idle_ = 0;
  bool stopped_ = false;
};

}  // namespace workspace::disk
