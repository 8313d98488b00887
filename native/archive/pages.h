#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

namespace workspace::archive {

/**
 * Memory allocated directly from the system: returned immediately when freed, while the heaps of many threads would
 * each keep theirs.
 */
class Pages {
 public:
  Pages() = default;

  /** Throws std::bad_alloc. */
  explicit Pages(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::uint8_t*>(memory);
  }

  Pages(Pages&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  ~Pages() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
  }

  std::span<std::uint8_t> span() const { return {memory_, bytes_}; }

 private:
  std::uint8_t* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace workspace::archive
