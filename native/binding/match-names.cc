#include "match-names.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "../text/wildcard.h"

namespace workspace::binding {

namespace {

bool isArray(const Napi::Value& value, napi_typedarray_type type) {
  return value.IsTypedArray() && value.As<Napi::TypedArray>().TypedArrayType() == type;
}

}  // namespace

Napi::Value matchNames(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 5 || !isArray(info[0], napi_uint8_array) || !isArray(info[1], napi_int32_array) ||
      !isArray(info[2], napi_int32_array) || !info[3].IsString() || !info[4].IsNumber()) {
    throw Napi::TypeError::New(env, "matchNames expects bytes, offsets, ids, a pattern and a part");
  }
  const auto bytes = info[0].As<Napi::Uint8Array>();
  const auto offsets = info[1].As<Napi::Int32Array>();
  const auto ids = info[2].As<Napi::Int32Array>();
  const std::int32_t part = info[4].As<Napi::Number>().Int32Value();
  if (part < 0 || part >= text::partCount) throw Napi::RangeError::New(env, "the part of a name is invalid");
  const std::string pattern = info[3].As<Napi::String>().Utf8Value();
  const text::NamePattern names(pattern, static_cast<text::Part>(part));
  const std::size_t count = offsets.ElementLength() == 0 ? 0 : offsets.ElementLength() - 1;
  Napi::Uint8Array fits = Napi::Uint8Array::New(env, count);
  // Local copies: an accessor's lookups would take longer than a comparison.
  const std::int32_t* const starts = offsets.Data();
  const std::string_view all(reinterpret_cast<const char*>(bytes.Data()), bytes.ElementLength());
  std::uint8_t* const result = fits.Data();
  const std::int32_t* const wanted = ids.Data();
  const std::size_t wantedCount = ids.ElementLength();
  for (std::size_t i = 0; i < wantedCount; i++) {
    const auto id = static_cast<std::size_t>(wanted[i]);
    if (wanted[i] < 0 || id >= count) throw Napi::RangeError::New(env, "name does not exist: " + std::to_string(wanted[i]));
    const std::int32_t start = starts[id];
    const std::int32_t end = starts[id + 1];
    if (start < 0 || end < start || static_cast<std::size_t>(end) > all.size()) throw Napi::RangeError::New(env, "a name ends beyond the bytes");
    result[id] = names.fits(all.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start))) ? 1 : 0;
  }
  return fits;
}

}  // namespace workspace::binding
