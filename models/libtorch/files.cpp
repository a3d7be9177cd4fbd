#include "lockstep/models/libtorch/files.h"

#include <filesystem>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <lockstep/models/files/safetensors_file.h>
#include <lockstep/models/libtorch/tensor.h>
#include <lockstep/models/serialization/file_formats.h>
#include <lockstep/runtime/core/atomic_file.h>
#include <lockstep/runtime/core/regular_file.h>

namespace lockstep::libtorch {
namespace {

bool is_safetensors(const std::string& path) { return std::filesystem::path(path).extension() == ".safetensors"; }

void check_kept_by_safetensors(const std::string& name, const torch::Tensor& value) {
  require<Unsupported>(dtype_of(value.scalar_type()).has_value(),
                       "'{}' is {}, which .safetensors files of lockstep do not hold: use .pt", name,
                       torch::toString(value.scalar_type()));
}

/// The tensors that state_dict has: the parameters and then the buffers, under each of their names.
std::vector<std::pair<std::string, torch::Tensor>> state_of(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, torch::Tensor>> state;
  for (const auto& all : {module.named_parameters(), module.named_buffers()})
    for (const auto& item : all)
      if (item.value().defined()) state.emplace_back(item.key(), item.value());
  for (const auto& [name, value] : state) check_kept_by_safetensors(name, value);
  return state;
}

std::vector<std::byte> safetensors_of(const ModuleReplicas& modules) {
  std::vector<NamedTensor> named;
  modules.with_mean_buffers([&](torch::nn::Module& first) {
    for (const auto& [name, value] : state_of(first)) named.push_back({name, from_torch(value)});
  });
  return safetensors_contents(named);
}

/// A tensor with several names may be in the file under any of them.
void load_safetensors(const torch::nn::Module& module, const std::string& path) {
  const auto state = state_of(module);
  std::vector<SafetensorsFile::Expected> expected;
  for (const auto& [name, value] : state)
    expected.push_back({name, *dtype_of(value.scalar_type()), shape_of(value), {name}});
  std::vector<std::string> missing;  // messages: a tensor of `expected` that the file lacks, or others that it has
  const std::vector<Tensor> values =
      SafetensorsFile(path).read_matching(expected, [&](const std::string& message, bool is_missing) {
        require<InputError>(is_missing, "{}", message);
        missing.push_back(message);
      });
  const torch::NoGradGuard no_grad;
  auto message = missing.begin();
  for (std::size_t i = 0; i < values.size(); ++i) {
    torch::Tensor tensor = state[i].second;
    if (values[i].defined()) {
      tensor.copy_(as_torch(values[i]));
      continue;
    }
    bool is_there = false;
    for (std::size_t other = 0; other < values.size(); ++other)
      is_there = is_there || (values[other].defined() && state[other].second.is_same(tensor));
    require<InputError>(is_there, "{}", *message);
    ++message;
  }
  require<InputError>(message == missing.end(), "{}", missing.empty() ? "" : missing.back());
}

/// libtorch's message in one line, without the backtrace.
std::string line_of(const c10::Error& error) {
  std::string line = error.what_without_backtrace();
  return line.substr(0, line.find('\n'));
}

}  // namespace

void detail::write_archive(const Strategy& strategy, const std::string& path,
                           const std::function<void(torch::serialize::OutputArchive&)>& write) {
  torch::serialize::OutputArchive archive(std::make_shared<torch::jit::CompilationUnit>());
  write(archive);
  on_all_workers(strategy, [&] {
    if (!strategy.is_chief()) return;
    std::ostringstream contents;
    archive.save_to(contents);
    const std::string_view bytes = contents.view();
    write_file_atomically(path, std::as_bytes(std::span(bytes)));
  });
}

void detail::read_archive(const std::string& path, const std::function<void(torch::serialize::InputArchive&)>& read) {
  require_regular_file(path);
  try {
    torch::serialize::InputArchive archive;
    archive.load_from(path);
    read(archive);
  } catch (const c10::Error& problem) {
    fail<InputError>("{}: {}", path, line_of(problem));
  }
}

void save(const ModuleReplicas& modules, const std::string& path) {
  if (is_safetensors(path)) {
    const std::vector<std::byte> contents = safetensors_of(modules);
    on_all_workers(modules.strategy(), [&] {
      if (modules.strategy().is_chief()) write_file_atomically(path, contents);
    });
    return;
  }
  modules.with_mean_buffers([&](torch::nn::Module& first) {
    detail::write_archive(modules.strategy(), path,
                          [&](torch::serialize::OutputArchive& archive) { first.save(archive); });
  });
}

void load(const ModuleReplicas& modules, const std::string& path) {
  modules.load_first([&](torch::nn::Module& first) {
    on_all_workers(modules.strategy(), [&] {
      if (is_safetensors(path))
        load_safetensors(first, path);
      else
        detail::read_archive(path, [&](torch::serialize::InputArchive& archive) { first.load(archive); });
    });
  });
}

}  // namespace lockstep::libtorch
