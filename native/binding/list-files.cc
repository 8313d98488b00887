#include "list-files.h"

#include <cstdint>
#include <string>

#include "../disk/list-files.h"
#include "background.h"
#include "system-error.h"

namespace workspace::binding {

Napi::Value listFiles(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  if (info.Length() != 3 || !info[1].IsString() || !info[2].IsString()) {
    throw Napi::TypeError::New(env, "listFiles expects a path, an ending and a directory's name (strings)");
  }
  const std::string root = pathOf(env, info[0]);
  const auto [files, problems] = disk::listFiles(root, {info[1].As<Napi::String>(), info[2].As<Napi::String>()});
  std::string names;
  Napi::Float64Array figures = Napi::Float64Array::New(env, files.size() * 2);
  double* figure = figures.Data();
  for (const disk::ListedFile& file : files) {
    if (!names.empty()) names += '\0';
    names += file.name;
    *figure++ = static_cast<double>(file.bytes);
    *figure++ = static_cast<double>(file.modifiedSeconds) * 1e3 + static_cast<double>(file.modifiedNanoseconds) / 1e6;
  }
  Napi::Array errors = Napi::Array::New(env, problems.size());
  for (std::size_t i = 0; i < problems.size(); i++) {
    const auto& [number, syscall, name] = problems[i];
    errors.Set(static_cast<std::uint32_t>(i), systemError(env, number, syscall, name.empty() ? root : root + '/' + name).Value());
  }
  Napi::Array result = Napi::Array::New(env, 3);
  result.Set(0U, Napi::String::New(env, names));
  result.Set(1U, figures);
  result.Set(2U, errors);
  return result;
}

}  // namespace workspace::binding
