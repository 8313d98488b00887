#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "source.h"

namespace workspace::log {

/**
 * What programs print: read from their pipes in a thread of its own, split into lines, and kept within bounds. A program is
 * never held up by who reads its lines here.
 */
class Store {
 public:
  /** @param onLines called in the store's thread when lines have come or a stream has ended, while `setListening` is on */
  explicit Store(std::function<void()> onLines);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  int addSource(Bounds bounds);
  void removeSource(int source);
  std::shared_ptr<Source> find(int source) const;

  /** Reads a pipe, which the store then owns, until it ends. Returns 0 or the error number. */
  int attach(int source, int stream, int fd);
  /** Takes bytes that somebody else has read. */
  void push(int source, int stream, std::string_view bytes);
  void finish(int source, int stream);
  void setListening(bool isOn) { isListening = isOn; }
  /** What the next line will be numbered with. All lines before it can be read. */
  std::uint64_t nextSequence() const { return sequence; }

 private:
  struct Reader {
    int stream;
    std::shared_ptr<Source> lines;
    bool isWide = false;
  };

  void run();
  /** Whether the stream goes on. */
  bool readSome(int fd, Reader& reader);
  void tell();

  std::function<void()> onLines;
  std::atomic<bool> isListening = false;
  std::atomic<std::uint64_t> sequence = 1;
  mutable std::mutex mutex;
  std::map<int, std::shared_ptr<Source>> sources;
  std::unordered_map<int, Reader> readers;
  int lastSource = 0;
  int poll = -1;
  int wake = -1;
  std::vector<char> buffer;
  std::thread thread;
};

}  // namespace workspace::log
