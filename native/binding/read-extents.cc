#include "read-extents.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "../archive/extent.h"
#include "../archive/nested.h"
#include "background.h"
#include "read-classes.h"

namespace workspace::binding {

namespace {

using archive::Extent;
using archive::ExtentReader;
using archive::File;
using archive::NestedArchives;
using archive::Source;
using classfile::ClassReader;

constexpr std::size_t numbersPerExtent = 6;
/** The largest existing class files have about 3 MiB. */
constexpr std::uint64_t maxClassBytes = std::uint64_t{16} << 20;

std::vector<Extent> extentsOf(Napi::Env env, const Napi::Value& value) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_float64_array ||
      value.As<Napi::TypedArray>().ElementLength() % numbersPerExtent != 0) {
    throw Napi::TypeError::New(env, "readExtents expects extents as a Float64Array of six numbers each");
  }
  const auto numbers = value.As<Napi::Float64Array>();
  std::vector<Extent> extents;
  for (std::size_t at = 0; at < numbers.ElementLength(); at += numbersPerExtent) {
    for (std::size_t i = 0; i < 5; i++) {
      const double each = numbers[at + i];
      if (!(each >= 0 && each <= 9007199254740991.0)) throw Napi::RangeError::New(env, "an extent's numbers must be non-negative integers");
    }
    const double crc = numbers[at + 5];
    if (!(crc >= -1 && crc <= 4294967295.0)) throw Napi::RangeError::New(env, "a CRC-32 must have 32 bits");
    Extent extent;
    extent.offset = static_cast<std::uint64_t>(numbers[at]);
    extent.storedBytes = static_cast<std::uint64_t>(numbers[at + 1]);
    extent.bytes = static_cast<std::uint64_t>(numbers[at + 2]);
    const double method = numbers[at + 3];
    extent.method = method <= 65535 ? static_cast<std::uint16_t>(method) : 65535;
    extent.hasHeader = numbers[at + 4] != 0;
    extent.hasCrc = crc >= 0;
    extent.crc = extent.hasCrc ? static_cast<std::uint32_t>(crc) : 0;
    extents.push_back(extent);
  }
  return extents;
}

Wanted wantedOf(const Napi::Value& withDigest) { return withDigest.ToBoolean() ? Wanted::factsAndDigest : Wanted::facts; }

std::vector<std::string> namesOf(Napi::Env env, const Napi::Value& value, std::size_t count) {
  if (!value.IsArray() || value.As<Napi::Array>().Length() != count) {
    throw Napi::TypeError::New(env, "readExtents expects an array with a name for each extent");
  }
  const auto texts = value.As<Napi::Array>();
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < texts.Length(); i++) names.push_back(texts.Get(i).ToString().Utf8Value());
  return names;
}

void readAll(ClassReader& reader, const Source& source, const std::vector<Extent>& extents, const std::vector<std::string>& names) {
  ExtentReader extentReader(source, maxClassBytes);
  std::int32_t input = 0;
  for (const Extent& extent : extents) {
    std::span<const std::uint8_t> bytes;
    const char* fault = extentReader.read(extent, bytes);
    if (fault == nullptr) {
      reader.read(bytes, input, names[static_cast<std::size_t>(input)]);
    } else {
      reader.addDiagnostic(input, 0, fault);
    }
    input++;
  }
}

void failAll(ClassReader& reader, std::size_t count, const std::string& message) {
  for (std::size_t i = 0; i < count; i++) reader.addDiagnostic(static_cast<std::int32_t>(i), 0, message);
}

std::string sentence(int number) { return "it cannot be opened: " + std::generic_category().message(number); }

}  // namespace

Napi::Value readExtents(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 5) throw Napi::TypeError::New(env, "readExtents expects a path, a container, extents, names and whether to make a digest");
  auto read = extentsOf(env, info[2]);
  auto expected = namesOf(env, info[3], read.size());
  const auto job = [path = pathOf(env, info[0]), container = extentsOf(env, info[1]), extents = std::move(read),
                    names = std::move(expected)](ClassReader& reader) {
    const File file(path);
    if (file.failure() != 0) return failAll(reader, extents.size(), sentence(file.failure()));
    if (container.empty()) return readAll(reader, Source(file), extents, names);
    const NestedArchives::Lease nested = NestedArchives::shared().open(file, container[0]);
    if (nested.fault() != nullptr) return failAll(reader, extents.size(), std::string("its nested archive cannot be read: ") + nested.fault());
    readAll(reader, Source(nested.bytes()), extents, names);
  };
  return startReading(env, job, wantedOf(info[4]), Napi::Object::New(env));
}

namespace {

/** Nested archives open in JavaScript, by number. */
class OpenNested {
 public:
  std::uint32_t add(NestedArchives::Lease lease) {
    const std::lock_guard lock(mutex_);
    leases_.emplace(++last_, std::move(lease));
    return last_;
  }

  /** The lease must not be closed while its bytes are read: each belongs to one thread. */
  std::span<const std::uint8_t> bytesOf(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(number);
    return found == leases_.end() ? std::span<const std::uint8_t>() : found->second.bytes();
  }

  void close(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    leases_.erase(number);
  }

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, NestedArchives::Lease> leases_;
  std::uint32_t last_ = 0;
};

OpenNested& openNested() {
  static OpenNested open;
  return open;
}

}  // namespace

Napi::Value openNestedArchive(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2) throw Napi::TypeError::New(env, "openNestedArchive expects a path and an extent");
  const std::string path = pathOf(env, info[0]);
  const std::vector<Extent> extents = extentsOf(env, info[1]);
  if (extents.size() != 1) throw Napi::TypeError::New(env, "openNestedArchive expects one extent");
  const File file(path);
  if (file.failure() != 0) throw Napi::Error::New(env, sentence(file.failure()));
  NestedArchives::Lease lease = NestedArchives::shared().open(file, extents[0]);
  if (lease.fault() != nullptr) throw Napi::Error::New(env, lease.fault());
  return Napi::Number::New(env, openNested().add(std::move(lease)));
}

Napi::Value readNestedArchive(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 3 || !info[0].IsNumber() || !info[1].IsNumber() || !info[2].IsNumber())
    throw Napi::TypeError::New(env, "readNestedArchive expects an open archive's number, an offset and a count");
  const auto bytes = openNested().bytesOf(info[0].As<Napi::Number>().Uint32Value());
  const double offset = info[1].As<Napi::Number>().DoubleValue();
  const double count = info[2].As<Napi::Number>().DoubleValue();
  if (!(offset >= 0 && count >= 0 && offset + count <= static_cast<double>(bytes.size())))
    throw Napi::RangeError::New(env, "the range is not within the nested archive");
  return Napi::Buffer<std::uint8_t>::Copy(env, bytes.data() + static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
}

Napi::Value closeNestedArchive(const Napi::CallbackInfo& info) {
  if (info.Length() == 1 && info[0].IsNumber()) openNested().close(info[0].As<Napi::Number>().Uint32Value());
  return info.Env().Undefined();
}

Napi::Value readFiles(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 2 || !info[0].IsArray()) throw Napi::TypeError::New(env, "readFiles expects an array of paths and whether to make a digest");
  const auto array = info[0].As<Napi::Array>();
  std::vector<std::string> paths;
  for (std::uint32_t i = 0; i < array.Length(); i++) paths.push_back(pathOf(env, array[i]));
  const auto job = [paths = std::move(paths)](ClassReader& reader) {
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i < paths.size(); i++) {
      const auto input = static_cast<std::int32_t>(i);
      const File file(paths[i]);
      if (file.failure() != 0) {
        reader.addDiagnostic(input, 0, sentence(file.failure()));
      } else if (file.size() > maxClassBytes) {
        reader.addDiagnostic(input, 0, "it exceeds the size limit");
      } else {
        bytes.resize(static_cast<std::size_t>(file.size()));
        if (file.read(0, bytes)) {
          reader.read(bytes, input);
        } else {
          reader.addDiagnostic(input, 0, "its bytes could not all be read");
        }
      }
    }
  };
  return startReading(env, job, wantedOf(info[1]), Napi::Object::New(env));
}

}  // namespace workspace::binding
