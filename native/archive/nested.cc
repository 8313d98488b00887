#include "nested.h"

#include <algorithm>
#include <new>
#include <utility>

namespace workspace::archive {

NestedArchives& NestedArchives::shared() {
  static NestedArchives archives;
  return archives;
}

NestedArchives::Lease& NestedArchives::Lease::operator=(Lease&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(entry_, other.entry_);
  return *this;
}

NestedArchives::Lease::~Lease() {
  if (entry_ != nullptr && owner_ != nullptr) owner_->letGo(entry_);
}

const char* NestedArchives::refusal(const Extent& extent) const {
  if (extent.bytes > budget_ || extent.storedBytes > budget_ - extent.bytes) return "it exceeds the size limit";
  if (extent.bytes > manyBytes && extent.bytes / maxRatio > extent.storedBytes) return "it would inflate to more than 100 times its size";
  return nullptr;
}

NestedArchives::Lease NestedArchives::open(const File& file, const Extent& extent) {
  std::string key = file.identity();
  for (const std::uint64_t each : {extent.offset, extent.storedBytes, extent.bytes, std::uint64_t{extent.method}}) key.append(1, ':').append(std::to_string(each));
  const auto fresh = std::make_shared<Entry>();
  fresh->key = std::move(key);
  fresh->fault = refusal(extent);
  if (fresh->fault != nullptr) return Lease(*this, fresh);
  {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& each) { return each->key == fresh->key; });
      if (found != entries_.end()) {
        const std::shared_ptr<Entry> entry = *found;
        entries_.splice(entries_.end(), entries_, found);
        entry->users++;
        changed_.wait(lock, [&] { return entry->isReady; });
        return Lease(*this, entry);
      }
      fresh->claimed = extent.bytes + extent.storedBytes;
      if (makeRoom(fresh->claimed)) break;
      changed_.wait(lock);
    }
    claimed_ += fresh->claimed;
    entries_.push_back(fresh);
  }
  Pages inflated;
  const char* fault = nullptr;
  try {
    ExtentReader reader(Source(file), budget_);
    fault = reader.take(extent, inflated);
  } catch (const std::bad_alloc&) {
    fault = "there is not enough memory for it";
  }
  const std::lock_guard lock(mutex_);
  fresh->bytes = std::move(inflated);
  fresh->fault = fault;
  fresh->isReady = true;
  claimed_ -= fresh->claimed - fresh->bytes.span().size();
  fresh->claimed = fresh->bytes.span().size();
  changed_.notify_all();
  return Lease(*this, fresh);
}

bool NestedArchives::makeRoom(std::uint64_t bytes) {
  dropIdle(budget_ - bytes);
  return claimed_ + bytes <= budget_;
}

void NestedArchives::dropIdle(std::uint64_t mostClaimed) {
  for (auto each = entries_.begin(); each != entries_.end() && claimed_ > mostClaimed;) {
    if ((*each)->users > 0) {
      ++each;
      continue;
    }
    claimed_ -= (*each)->claimed;
    each = entries_.erase(each);
  }
}

void NestedArchives::letGo(const std::shared_ptr<Entry>& entry) {
  const std::lock_guard lock(mutex_);
  entry->users--;
  // Nothing to cache if it cannot be inflated.
  if (entry->users == 0 && entry->fault != nullptr) entries_.remove(entry);
  std::uint64_t used = 0;
  for (const auto& each : entries_)
    if (each->users > 0) used += each->claimed;
  dropIdle(used + idleBytes);
  changed_.notify_all();
}

std::uint64_t NestedArchives::claimedBytes() {
  const std::lock_guard lock(mutex_);
  return claimed_;
}

}  // namespace workspace::archive
