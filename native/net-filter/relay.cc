#include "relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>

namespace workspace::net_filter {

namespace {

/** A guest's rules are a few lines; a list of thousands of networks still fits. */
constexpr std::size_t MOST_RULES_BYTES = 1 << 20;
/**
 * Maximum size sent to passt at once, which the kernel accepts completely or not at all. passt (2023) loses track of
 * the stream when it reads a frame in parts, and the guest's connections then hang.
 */
constexpr std::size_t MOST_GROUP_BYTES = 16'384;

std::chrono::nanoseconds changedAt(const struct stat& status) {
  return std::chrono::seconds(status.st_ctim.tv_sec) + std::chrono::nanoseconds(status.st_ctim.tv_nsec);
}

enum class Sent { all, some, failed };

Sent sendSome(int fd, const std::uint8_t* bytes, std::size_t count, std::size_t& done) {
  while (done < count) {
    const ssize_t sent = send(fd, bytes + done, count - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) done += static_cast<std::size_t>(sent);
    else if (errno == EAGAIN || errno == EWOULDBLOCK) return Sent::some;
    else if (errno != EINTR) return Sent::failed;
  }
  return Sent::all;
}

std::size_t lengthAt(const std::uint8_t* at) {
  return static_cast<std::size_t>(at[0]) << 24 | static_cast<std::size_t>(at[1]) << 16 | static_cast<std::size_t>(at[2]) << 8 | at[3];
}

/** Returns the end of a group of complete frames: as many as fit, or one that is larger. */
std::size_t groupEnd(const std::uint8_t* bytes, std::size_t begin, std::size_t count) {
  std::size_t end = begin;
  while (end < count) {
    const std::size_t next = end + LENGTH_BYTES + lengthAt(bytes + end);
    if (end > begin && next - begin > MOST_GROUP_BYTES) break;
    end = next;
  }
  return end;
}

bool isLater(ssize_t count) { return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR); }

}  // namespace

bool FrameStream::sift(std::size_t bytes, const Policy& policy, Locator& locator) {
  end_ += bytes;
  while (end_ - next_ >= LENGTH_BYTES) {
    const std::uint8_t* at = buffer_.data() + next_;
    const std::size_t length = lengthAt(at);
    if (length == 0 || length > MOST_FRAME_BYTES) return false;
    const std::size_t whole = LENGTH_BYTES + length;
    if (end_ - next_ < whole) break;
    if (mayPass(std::span(at + LENGTH_BYTES, length), policy, locator)) {
      if (passed_ != next_) std::memmove(buffer_.data() + passed_, at, whole);
      passed_ += whole;
    } else {
      refused_++;
    }
    next_ += whole;
  }
  return true;
}

void FrameStream::clear() {
  std::memmove(buffer_.data(), buffer_.data() + next_, end_ - next_);
  end_ -= next_;
  next_ = 0;
  passed_ = 0;
}

bool Rules::read() {
  const int fd = open(file_, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  struct stat status {};
  std::string text;
  std::array<char, 8192> chunk;
  ssize_t count = 0;
  while (text.size() <= MOST_RULES_BYTES && (count = ::read(fd, chunk.data(), chunk.size())) > 0)
    text.append(chunk.data(), static_cast<std::size_t>(count));
  const bool isRead = count == 0 && fstat(fd, &status) == 0;
  close(fd);
  if (!isRead || !applyRules(text, policy_)) return false;
  inode_ = status.st_ino;
  changed_ = changedAt(status);
  return true;
}

void Rules::refresh() {
  const auto now = std::chrono::steady_clock::now();
  if (now < nextLook_) return;
  nextLook_ = now + LOOK_EVERY;
  struct stat status {};
  // Inode numbers are reused, so the time is compared too. Invalid rules leave the previous ones in force.
  if (stat(file_, &status) == 0 && (status.st_ino != inode_ || changedAt(status) != changed_)) read();
}

const char* relay(int guest, int network, Policy& policy, Rules& rules, Locator& locator, int changes) {
  FrameStream outward;
  std::size_t outwardSent = 0;
  std::size_t outwardGroup = 0;
  std::vector<std::uint8_t> inward(4 * MOST_FRAME_BYTES);
  std::size_t inwardBytes = 0;
  std::size_t inwardSent = 0;
  while (true) {
    const bool isOutwardFull = outward.passedBytes() > 0;
    const bool isInwardFull = inwardBytes > 0;
    std::array<pollfd, 3> watched = {{
        {guest, static_cast<short>((isOutwardFull ? 0 : POLLIN) | (isInwardFull ? POLLOUT : 0)), 0},
        {network, static_cast<short>((isInwardFull ? 0 : POLLIN) | (isOutwardFull ? POLLOUT : 0)), 0},
        {changes, POLLIN, 0},
    }};
    const int ready = poll(watched.data(), watched.size(), static_cast<int>(Rules::LOOK_EVERY.count()));
    if (ready < 0 && errno != EINTR) return "poll failed";
    // Checked by time: revoked rules must not stay in force for a guest that never pauses.
    rules.refresh();
    if (watched[2].revents != 0) locator.forget();
    if (!isOutwardFull && (watched[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const ssize_t count = recv(guest, outward.room(), outward.roomBytes(), MSG_DONTWAIT);
      if (count == 0 || (count < 0 && !isLater(count))) return "the machine has exited";
      if (count > 0) {
        const bool isValid = outward.sift(static_cast<std::size_t>(count), policy, locator);
        if (!isValid) return "a frame's length is not valid";
        if (outward.passedBytes() == 0) outward.clear();
      }
    }
    if (outward.passedBytes() > 0) {
      Sent sent = Sent::all;
      while (sent == Sent::all && outwardSent < outward.passedBytes()) {
        if (outwardSent == outwardGroup) outwardGroup = groupEnd(outward.passed(), outwardSent, outward.passedBytes());
        sent = sendSome(network, outward.passed(), outwardGroup, outwardSent);
      }
      if (sent == Sent::failed) return "passt has exited";
      if (sent == Sent::all) {
        outward.clear();
        outwardSent = outwardGroup = 0;
      }
    }
    if (!isInwardFull && (watched[1].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const ssize_t count = recv(network, inward.data(), inward.size(), MSG_DONTWAIT);
      if (count == 0 || (count < 0 && !isLater(count))) return "passt has exited";
      if (count > 0) inwardBytes = static_cast<std::size_t>(count);
    }
    if (inwardBytes > 0) {
      const Sent sent = sendSome(guest, inward.data(), inwardBytes, inwardSent);
      if (sent == Sent::failed) return "the machine has exited";
      if (sent == Sent::all) inwardBytes = inwardSent = 0;
    }
  }
}

}  // namespace workspace::net_filter
