#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "source.h"

namespace workspace::log {

/**
 * Output of programs, read from their pipes in a separate thread, split into lines, and limited in size. A slow
 * reader of the lines never delays a program.
 */
class Store {
 public:
  /** @param onLines called in the store's thread for new lines and ended streams, while `setListening` is on */
  explicit Store(std::function<void()> onLines);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  int addSource(Bounds bounds);
  void removeSource(int source);
  std::shared_ptr<Source> find(int source) const;

  /** Reads a pipe until it ends, and takes ownership of it. Returns 0 or the errno. */
  int attach(int source, int stream, int fd);
  /** Takes bytes that the caller has read. */
  void push(int source, int stream, std::string_view bytes);
  void finish(int source, int stream);
  void setListening(bool isOn) { isListening = isOn; }
  /** Returns the number of the next line. All earlier lines can be read. */
  std::uint64_t nextSequence() const { return sequence; }

 private:
  struct Reader {
    int stream;
    std::shared_ptr<Source> lines;
    bool isWide = false;
    UnfinishedLine begun = {};
  };

  void run();
  /** Returns false at the end of the stream. */
  bool readSome(int fd, Reader& reader);
  void tell();
  /** Sets the timer after which the thread takes states of lines that carriage returns rewrite, at most one a second. */
  void awaitStates();
  void showStates();

  std::function<void()> onLines;
  std::atomic<bool> isListening = false;
  std::atomic<std::uint64_t> sequence = 1;
  mutable std::mutex mutex;
  std::map<int, std::shared_ptr<Source>> sources;
  std::unordered_map<int, Reader> readers;
  int lastSource = 0;
  int poll = -1;
  int wake = -1;
  int timer = -1;
  std::atomic<bool> isAwaitingStates = false;
  std::atomic<std::chrono::steady_clock::time_point> statesAt = std::chrono::steady_clock::time_point();
  std::vector<char> buffer;
  std::thread thread;
};

}  // namespace workspace::log
